// The page: puts its parts together.
import "./style.css";
import { api, forgetToken, hasToken, onUnauthorized, setToken, takeToken, type Result } from "./api";
import { actionOf, type Action } from "./advice";
import { checks } from "./checks";
import { dialog, mountMessages, toast } from "./dialog";
import { ago, bytes, counted, fill, h, icon, iconButton, later, type IconName } from "./dom";
import { content, Drafts } from "./drafts";
import { Files } from "./files";
import { formatted } from "./format";
import { showHelp } from "./help";
import { History, remember } from "./history";
import { InputRow, type Give } from "./input";
import { isProgram, knownOf, syntaxOf } from "./languages";
import { Containers, languageLabel, newSession, optionsPanel, optionsSet, sessionsPanel } from "./panels";
import { errorCard, imageType, leftPicture, limitCard, moved, richResult, type Origin } from "./results";
import { refreshSessions, run, stopRun, wasStopped, type Watcher } from "./runner";
import { linkOf, sharedIn, type Shared } from "./share";
import { displayOf, kept, language, languageOf, languages, lastResult, options, running, session, sessionKept, sessions, type Draft } from "./state";
import { Status } from "./status";
import { Tabs } from "./tabs";
import { dark, startTheme, theme, type Theme } from "./theme";
import { quoted, words } from "./words";

takeToken();
startTheme();

const whole: Origin = { line: 1, column: 1, all: false };

/** Words of a command line; none where it cannot be read. */
function splitQuietly(text: string): string[] {
  try {
    return words(text);
  } catch {
    return [];
  }
}

async function start(): Promise<void> {
  const app = document.getElementById("app")!;
  const editorPlace = h("div", { class: "editor-place" });
  const consolePlace = h("div", { class: "console-place" });
  // The editor and the console are large, and are loaded in parallel.
  const [{ Editor, Keys }, { Console }, { SessionTerminal }] = await Promise.all([import("./editor"), import("./console"), import("./terminal")]);

  // The bar

  const chooser = h("select", { class: "language", "aria-label": "Language" });
  const place = h("select", { class: "place", "aria-label": "Where code runs" });
  const templates = h("select", { class: "templates", "aria-label": "Examples" });
  const runButton = h("button", { type: "button", class: "button primary run", onclick: () => void runAll() }, icon("play"), h("span", {}, "Run"));
  const stopButton = h("button", { type: "button", class: "button stop", disabled: true, title: "Stop (Ctrl+.)", onclick: () => stop() }, icon("stop"), h("span", {}, "Stop"));
  const themeButton = iconButton("theme", "Theme", () => {
    const order: Theme[] = ["system", "light", "dark"];
    theme.set(order[(order.indexOf(theme.get()) + 1) % order.length]!);
    toast(`Theme: ${theme.get()}.`);
  });
  theme.watch((now) => {
    fill(themeButton, icon(now === "system" ? "theme" : now === "light" ? "sun" : "moon"));
    themeButton.title = `Theme: ${now}`;
  });
  const bar = h("header", { class: "bar" },
    h("h1", { class: "brand" }, h("img", { src: "/favicon.svg", alt: "", width: "22", height: "22" }), h("span", {}, "ember", h("b", {}, "box"))),
    chooser, place, runButton, stopButton,
    h("span", { class: "grow" }),
    templates,
    iconButton("format", "Format code (Shift+Alt+F)", () => void editor.widget.getAction("editor.action.formatDocument")?.run(), { class: "icon-button wide-only" }),
    h("button", { type: "button", class: "button quiet", title: "Share a link to this code", "aria-label": "Share a link to this code", onclick: () => void share() }, icon("share"), h("span", {}, "Share")),
    iconButton("help", "Keyboard shortcuts", showHelp, { class: "icon-button wide-only" }),
    themeButton,
  );

  // The middle

  const tabRow = h("div", { class: "tab-row" });
  const editArea = h("section", { class: "edit", "aria-label": "Editor" }, tabRow, editorPlace);
  const results = h("div", { class: "results", role: "region", "aria-label": "Results" });
  const filters = (["all", "stdout", "stderr"] as const).map((name) => h("button", { type: "button", class: "chip", "aria-pressed": String(name === "all"), onclick: (event) => {
    shell.filter = name;
    filters.forEach((button) => button.setAttribute("aria-pressed", String(button === event.currentTarget)));
  } }, { all: "All", stdout: "Output", stderr: "Errors" }[name]));
  const terminalButton = iconButton("terminal", "Session terminal", () => toggleTerminal(), { "aria-pressed": "false" });
  const cut = h("p", { class: "cut", role: "status" }, "Only the last 5000 lines are shown. Copy includes more.");
  cut.hidden = true;
  const outArea = h("section", { class: "out", "aria-label": "Output" },
    h("div", { class: "out-head" }, h("h2", {}, "Output"), h("span", { class: "chips", role: "group", "aria-label": "Streams shown" }, ...filters), h("span", { class: "grow" }),
      iconButton("copy", "Copy output", () => void copyOutput()), iconButton("clear", "Clear output", () => { shell.clear(); results.replaceChildren(); sized(); }), terminalButton),
    cut, consolePlace, results);
  const splitter = h("div", { class: "splitter", role: "separator", tabindex: "0", "aria-label": "Editor width", "aria-orientation": "vertical", "aria-valuemin": "20", "aria-valuemax": "80" });
  const work = h("main", { class: "work" }, editArea, splitter, outArea, h("div", { class: "drop-hint", "aria-hidden": "true" }, icon("up"), h("span", {}, "Drop files here to add them")));

  // The side

  const side = h("aside", { class: "side", "aria-label": "Panel" });
  const rail = h("nav", { class: "rail", "aria-label": "Panels" });
  const root = h("div", { class: "app" }, bar, rail, side, work);
  app.replaceChildren(root);
  mountMessages(app, work);

  const editor = new Editor(editorPlace, dark.get());
  const shell = new Console(consolePlace, dark.get(), [
    h("p", {}, "Press ", h("b", {}, "Run"), " or ", h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"), "."),
    h("p", { class: "hint" }, "Each run starts in a clean sandbox with no network. If it asks for input, type it here."),
  ]);
  shell.onCut = (now) => {
    cut.hidden = !now;
    shell.fit();
  };
  const input = new InputRow(shell, () => shell.fit());
  consolePlace.after(input.element);
  const tabs = new Tabs(editor);
  tabRow.append(tabs.element, iconButton("plus", "New file", () => void tabs.add()));
  dark.changed((now) => {
    editor.setTheme(now);
    shell.setTheme(now);
  });

  const status = new Status(
    (restarted) => {
      if (restarted) {
        shell.note("The service was restarted. Running programs were stopped and sessions were lost. Your code is unchanged.", "warn");
        toast("The service was restarted.");
      }
      banner.hidden = true;
      void learn();
    },
    () => void (banner.hidden = false),
  );
  const banner = h("div", { class: "banner", role: "alert" }, "Cannot reach the service. Your code is saved in this browser. The page reconnects automatically.");
  banner.hidden = true;
  root.append(banner, status.element);

  const files = new Files(editor, { add: () => void tabs.add(), rename: (index) => void tabs.rename(index), close: (index) => tabs.close(index), shown: () => view("code"), runs: () => programIndex() });
  const containers = new Containers(shell, () => editor.active?.model.getValue() ?? "", () => innerWidth <= 760 && view("output"), () => plainWatcher);
  const history = new History({
    open: (draft) => { replace(draft, "Opened from History."); view("code"); },
    rerun: (draft) => { replace(draft, "Opened from History."); void runAll(); },
  });
  const panels: { name: string; label: string; icon: IconName; element: HTMLElement; shown?: () => void }[] = [
    { name: "files", label: "Files", icon: "files", element: files.element, shown: () => files.shown() },
    { name: "options", label: "Run options", icon: "options", element: optionsPanel() },
    { name: "sessions", label: "Sessions", icon: "sessions", element: sessionsPanel(shell, (item) => { language.set(item.language); session.set(item); }, (item, code) => { language.set(item.language); session.set(item); replace({ language: item.language, files: [{ name: knownOf(item.language).file, text: code }] }, "Opened a cell from the session."); view("code"); }), shown: () => void refreshSessions() },
    { name: "history", label: "History", icon: "history", element: history.element, shown: () => history.show() },
    { name: "containers", label: "Containers", icon: "containers", element: containers.element, shown: () => void containers.draw() },
  ];
  const panelChosen = kept<string | null>("panel", innerWidth > 1500 ? "files" : null);

  /** A narrow page shows one view at a time. */
  function view(name: "code" | "output" | "side"): void {
    root.dataset["view"] = name;
    railButtons.forEach(({ button, name: own }) => button.setAttribute("aria-pressed", String(own === name || (name === "side" ? own === panelChosen.get() : innerWidth > 760 && own === panelChosen.get()))));
    shell.fit();
  }

  function openPanel(name: string | null): void {
    panelChosen.set(name);
    const panel = panels.find((item) => item.name === name);
    root.classList.toggle("with-side", panel !== undefined);
    if (panel) {
      fill(side, h("header", { class: "side-head" }, h("h2", {}, panel.label), iconButton("close", "Close panel", () => { openPanel(null); view("code"); })), panel.element);
      panel.shown?.();
    }
    if (name !== "files") files.hidden();
    view(panel && innerWidth <= 760 ? "side" : "code");
  }

  const railButton = (name: string, label: string, glyph: IconName, click: () => void, narrow = false): { name: string; button: HTMLButtonElement } => {
    const button = h("button", { type: "button", class: `rail-button${narrow ? " narrow-only" : ""}`, title: label, "aria-label": label, "aria-pressed": "false", onclick: click }, icon(glyph), h("span", {}, label.replace("Run options", "Options")));
    return { name, button };
  };
  const railButtons = [
    railButton("code", "Code", "edit", () => view("code"), true),
    railButton("output", "Output", "output", () => view("output"), true),
    ...panels.map((panel) => railButton(panel.name, panel.label, panel.icon, () => openPanel(panelChosen.get() === panel.name && (innerWidth > 760 || root.dataset["view"] === "side") ? null : panel.name))),
  ];
  rail.append(...railButtons.map(({ button }) => button));
  options.watch(() => railButtons.find(({ name }) => name === "options")!.button.classList.toggle("marked", optionsSet() > 0));

  // Widths

  const width = kept("width", 54);
  const setWidth = (percent: number): void => width.set(Math.min(80, Math.max(20, percent)));
  width.watch((now) => {
    work.style.setProperty("--editor", `${now}%`);
    splitter.setAttribute("aria-valuenow", String(Math.round(now)));
  });
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    const move = (now: PointerEvent): void => {
      const area = work.getBoundingClientRect();
      setWidth(((now.clientX - area.left) / area.width) * 100);
    };
    splitter.addEventListener("pointermove", move);
    splitter.addEventListener("lostpointercapture", () => splitter.removeEventListener("pointermove", move), { once: true });
  });
  splitter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") setWidth(width.get() - 2);
    else if (event.key === "ArrowRight") setWidth(width.get() + 2);
  });
  /** Results have the room that the console has no lines for. The console's size is watched by the console itself. */
  const sized = (): void => {
    outArea.classList.toggle("with-results", results.childElementCount > 0);
    if (results.childElementCount > 0) void shell.height().then((pixels) => pixels > 0 && outArea.style.setProperty("--console", `${Math.ceil(pixels)}px`));
  };

  // Files in tabs

  editor.onTabs = () => {
    tabs.draw();
    files.draw();
    checking.soon();
    drawRunning();
  };
  const checking = checks(editor);

  const NO_ROOM = "This browser has no room left to save your code. To keep it, download it from the Files panel.";
  const drafts = new Drafts(() => drawTemplates(), () => toast(NO_ROOM, "bad"));
  const draftOf = (): Draft => ({ language: language.get(), files: editor.files.map(({ name, model, origin }) => ({ name, text: model.getValue(), ...(origin ? { origin: { session: origin.session, path: origin.path } } : {}) })) });
  const keepDraft = (name: string): boolean => editor.files.length === 0 || drafts.keep(name, { ...draftOf(), language: name });
  const saveDraft = later(400, () => void keepDraft(language.get()));
  window.addEventListener("pagehide", () => void keepDraft(language.get()));

  function show(draft: Draft): void {
    // Keeps what was typed a moment ago.
    if (!switching) keepDraft(language.get());
    showing = true;
    language.set(languageOf(draft.language)?.name ?? draft.language);
    editor.load(draft.files.map((file) => ({ ...file, syntax: syntaxOf(file.name, draft.language) })));
    showing = false;
    if (draft.args) options.set({ ...options.get(), args: draft.args.map(quoted).join(" ") });
    if (draft.stdin) options.set({ ...options.get(), stdin: draft.stdin });
    keepDraft(language.get());
    drawTemplates();
    checking.soon();
  }
  let showing = false;
  let switching = false;

  /** Whether a draft is empty or an unchanged example, so that it need not be kept. */
  const isUntouched = ({ language: name, files: own }: Draft): boolean =>
    own.every(({ text }) => text.trim() === "") || (own.length === 1 && Object.values(knownOf(name).templates).includes(own[0]!.text));

  /** Replaces the editor's files, which can be restored: at once with Undo, later from the list of examples. */
  function replace(draft: Draft, told: string): void {
    const { args, stdin } = options.get();
    const before: Draft = draftOf();
    const same = before.language === draft.language && content(before) === content(draft);
    const name = languageOf(draft.language)?.name ?? draft.language;
    const loses = before.language === name ? before : drafts.of(name);
    if (!same && loses && !isUntouched(loses)) drafts.replaced({ ...loses, language: name });
    show(draft);
    toast(told, "info", same ? undefined : { label: "Undo", act: () => {
      // A late Undo must not lose what was written or opened in the meantime.
      const now = draftOf();
      if (content(now) !== content(draft) && !isUntouched(now)) drafts.replaced(now);
      show(before);
      options.set({ ...options.get(), args, stdin });
    } });
  }

  const template = (name: string): Draft => {
    const own = knownOf(name);
    return { language: name, files: [{ name: own.file, text: Object.values(own.templates)[0] ?? "" }] };
  };

  // Languages and places

  function drawChooser(): void {
    const all = languages.get();
    const group = (label: string, items: typeof all): HTMLElement | null =>
      items.length === 0 ? null : h("optgroup", { label }, ...items.map((item) => h("option", { value: item.name }, languageLabel(item.name))));
    fill(chooser, group("Installed", all.filter((item) => item.available)), group("Not installed", all.filter((item) => !item.available)));
    if (all.length === 0) fill(chooser, h("option", { value: language.get() }, language.get()));
    chooser.value = language.get();
  }
  /** The drafts that the list of examples has now. */
  let offered: ReturnType<Drafts["others"]> = [];
  function drawTemplates(): void {
    offered = drafts.others(language.get());
    const label = ({ draft, time }: (typeof offered)[number]): string => {
      const first = draft.files[0]?.text.split("\n").find((line) => line.trim() !== "")?.trim().slice(0, 40) ?? "empty";
      return `${first} (${ago(new Date(time).toISOString())})`;
    };
    fill(templates, h("option", { value: "" }, "Examples"), ...Object.keys(knownOf(language.get()).templates).map((name) => h("option", { value: name }, name)),
      offered.length > 0 ? h("optgroup", { label: "Your other drafts" }, ...offered.map((item, at) => h("option", { value: `draft:${at}` }, label(item)))) : null);
  }
  function drawPlace(): void {
    const name = language.get();
    const can = sessions.get() !== null && languageOf(name)?.session !== false;
    const live = (sessions.get() ?? []).filter((item) => item.language === name && item.status !== "ended");
    const mine = session.get();
    if (mine && !live.some((item) => item.id === mine.id)) live.unshift(mine);
    fill(place, h("option", { value: "" }, "New sandbox"), ...live.map((item) => h("option", { value: item.id }, `${item.name || `Session ${item.id.slice(-6)}`}${item.status === "ended" ? " (ended)" : ""}`)),
      h("option", { value: "new", disabled: !can }, can ? "New session…" : sessions.get() === null ? "Sessions are not available" : `No sessions for ${displayOf(name)}`));
    place.value = mine?.id ?? "";
  }
  chooser.addEventListener("change", () => language.set(chooser.value));
  templates.addEventListener("change", () => {
    const own = /^draft:(\d+)$/.exec(templates.value);
    const other = own && offered[Number(own[1])];
    if (other) replace(other.draft, "Opened the draft.");
    const text = own ? undefined : knownOf(language.get()).templates[templates.value];
    const name = templates.options[templates.selectedIndex]?.text;
    templates.value = "";
    if (text !== undefined) replace({ language: language.get(), files: [{ name: knownOf(language.get()).file, text }] }, `Opened the example "${name}".`);
    view("code");
  });
  place.addEventListener("change", () => {
    if (place.value === "new") void newSession(shell).finally(drawPlace);
    else session.set((sessions.get() ?? []).find((item) => item.id === place.value) ?? null);
  });
  languages.watch(() => {
    drawChooser();
    drawPlace();
    history.languages(languages.get().map((item) => item.name));
  });
  language.watch((now, before) => {
    if (now !== before) {
      if (session.get() && session.get()!.language !== now) session.set(null);
      if (!showing) {
        switching = true;
        keepDraft(before);
        show(drafts.of(now) ?? template(now));
        switching = false;
      }
    }
    chooser.value = now;
    drawTemplates();
    drawPlace();
  });
  sessions.changed(drawPlace);
  session.changed(drawPlace);

  // Running

  let made = 0;
  let ranFile = 0;
  /** Where in its file what ran begins: lines and columns of errors are counted from there. */
  let ranFrom: Origin = whole;
  const watcher: Watcher = {
    begin(): void {
      made = 0;
      input.prepare();
      results.replaceChildren();
      editor.clearMarks("run");
      sized();
    },
    output(data: Record<string, unknown>): void {
      results.append(richResult(data, ++made));
      sized();
    },
    ended(result: Result): void {
      if (!wasStopped(result)) showError(result);
      sized();
      void showPictures(result);
    },
    input(give: Give | null, keys: boolean): void {
      shell.keys = give && keys ? (text) => void give(text).catch(() => {}) : null;
      if (give && !keys) input.begin(give);
      else input.end();
    },
  };

  /** For runs whose code is not in the editor: their errors have no place there. */
  const plainWatcher: Watcher = { ...watcher, ended: (result) => {
    sized();
    void showPictures(result);
  } };

  /** Which tab a path of the sandbox is; the program's own where it is not known. */
  function tabOf(path: string | null): number {
    const name = path?.replace(/^.*\/sandbox\/code\//, "").replace(/^\.\//, "");
    const found = editor.files.findIndex((file) => file.name === name || file.name === name?.split("/").pop());
    return found >= 0 ? found : Math.min(ranFile, editor.files.length - 1);
  }

  function showError(result: Result): void {
    const error = result.error && moved(result.error, ranFrom, (path) => tabOf(path) === ranFile);
    const action = actionOf(result.status, error?.kind ?? null);
    if (!error) {
      const advice = result.status === "timeout" || result.status === "out_of_memory" ? result.verdict : null;
      if (!advice) return;
      const limit = limitCard(advice, action && { name: action, act: () => help(action, result) }, () => { limit.remove(); sized(); });
      results.prepend(limit);
      return sized();
    }
    const at = tabOf(error.file);
    const file = editor.files[at];
    if (error.line && file) {
      editor.mark(file, "run", [{ line: error.line, column: error.column, message: error.message, severity: "error" }]);
      editor.fail(file, error.line, error.message ? `${error.type}: ${error.message}` : error.type);
    }
    const card = errorCard(error, result.error_message, {
      go: (path, line, column) => { view("code"); editor.go(tabOf(path), line, column ?? 1); },
      apply: (fix) => {
        const target = editor.files[tabOf(fix.file)];
        if (!target) return;
        editor.replace(target, fix.line, fix.column, fix.end_column, fix.text);
        view("code");
        editor.go(tabOf(fix.file), fix.line, fix.column);
        editor.clearMarks("run");
        card.remove();
        sized();
        toast("Applied.", "info", { label: "Run again", act: () => void runAll() });
      },
      ...(action ? { action: { name: action, act: () => help(action, result) } } : {}),
      close: () => { card.remove(); sized(); },
    });
    results.prepend(card);
    sized();
  }

  /** Leads to where that can be done. */
  function help(action: Action, result: Result): void {
    if (action === "upload") {
      openPanel("files");
      return files.choose();
    }
    openPanel("options");
    const limits: Record<string, string> = { timeout: "Time (seconds)", memory: "Memory", pids: "Processes", disk: "Disk", cpu_time: "CPU time" };
    const field = action === "input" ? "Standard input" : limits[result.meta.limit ?? result.verdict?.cause ?? ""] ?? "Memory";
    side.querySelector<HTMLElement>(`[data-field="${field}"]`)?.focus();
  }

  /** Images among the files that it left. */
  async function showPictures(result: Result): Promise<void> {
    for (const file of result.files.slice(0, 20)) {
      const type = imageType(file.path);
      if (!type || !file.kept || file.size > 8 << 20) continue;
      const content = await api.left(result.id, file.path).catch(() => null);
      if (!content || lastResult.get() !== result) return;
      results.append(leftPicture(file.path, new Blob([content], { type })));
      sized();
    }
  }

  async function runCode(part: (Origin & { text: string; last: number }) | null): Promise<void> {
    if (running.get()) return;
    const known = languageOf(language.get());
    if (known && !known.available) return void shell.note(`${known.display} is not installed on this machine. To install it: ${known.install}`, "bad");
    if (session.get()?.status === "ended") {
      shell.note("The session has ended. Running in a new sandbox instead.", "warn");
      session.set(null);
    }
    const inSession = session.get() !== null;
    const program = part ? editor.activeIndex : programIndex();
    const name = displayOf(language.get());
    if (program < 0 || (part && !isProgram(editor.files[program]!.name, language.get())))
      return void toast(part ? `${editor.active?.name} is not ${name} code. Select code in a ${name} tab.` : `No tab contains ${name} code.`, "bad");
    ranFile = program;
    ranFrom = part ?? whole;
    const main = editor.files[ranFile]!;
    const code = part?.text ?? main.model.getValue();
    // A file of the session's is there, and is written when that is said.
    const others = Object.fromEntries(editor.files.filter((file, at) => at !== ranFile && !(inSession && file.origin)).map((file) => [file.name, file.model.getValue()]));
    // With several tabs it is said which one runs.
    const which = editor.files.length > 1 && !part ? main.name : "";
    if (innerWidth <= 760) view("output");
    const draft = draftOf();
    const { args, stdin } = options.get();
    const lines = part && (part.line === part.last ? `line ${part.line}` : `lines ${part.line} to ${part.last}`);
    const result = await run({ code, part: lines ?? which, name: main.name, tabs: editor.files.map((file) => file.name), usual: languageOf(language.get())?.file ?? knownOf(language.get()).file, files: others }, shell, watcher);
    if (result) remember(result.id, code, part || inSession ? { language: draft.language, files: [{ name: main.name, text: code }] } : { ...draft, ...(args ? { args: splitQuietly(args) } : {}), ...(stdin ? { stdin } : {}) }, wasStopped(result));
    if (result && panelChosen.get() === "history") history.show();
  }
  /** The tab that Run runs: in a session the one that is seen, otherwise the first; never one of data. -1: there is none. */
  function programIndex(): number {
    const can = (at: number): boolean => editor.files[at] !== undefined && isProgram(editor.files[at].name, language.get());
    const first = session.get() !== null ? editor.activeIndex : 0;
    return can(first) ? first : editor.files.findIndex((_, at) => can(at));
  }
  const runAll = (): Promise<void> => runCode(null);
  const runSelection = (): Promise<void> => runCode(editor.selection());

  /** Stop also interrupts a cell of the session that another page has begun. */
  function drawRunning(): void {
    runButton.disabled = running.get();
    const file = editor.files[programIndex()];
    runButton.title = file && editor.files.length > 1 ? `Run ${file.name} (Ctrl+Enter)` : "Run (Ctrl+Enter)";
    stopButton.disabled = !running.get() && session.get()?.status !== "busy";
    root.classList.toggle("running", running.get());
  }
  running.watch(drawRunning);
  session.changed(drawRunning);
  function stop(): void {
    const place = session.get();
    if (running.get()) stopRun();
    else if (place?.status === "busy") api.interrupt(place.id).then(() => refreshSessions(), (error: Error) => toast(error.message, "bad"));
  }
  editor.command("Run", "emberbox.run", [Keys.run], () => void runAll());
  editor.command("Run Selection", "emberbox.run-selection", [Keys.runSelection], () => void runSelection());
  editor.command("Save to Session", "emberbox.save", [Keys.save], () => void saveFile());
  const saveFile = async (): Promise<void> => {
    if (await files.saveBack()) return;
    if (keepDraft(language.get())) toast("Your code is saved in this browser as you type.");
    else toast(NO_ROOM, "bad");
  };
  const keys: Record<string, () => void> = { Enter: () => void runAll(), ".": () => stop(), s: () => void saveFile() };
  document.addEventListener("keydown", (event) => {
    const act = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && keys[event.key === "S" ? "s" : event.key];
    if (!act || event.defaultPrevented || (event.target as Element | null)?.closest?.("dialog, .session-terminal")) return;
    event.preventDefault();
    act();
  });

  // Help from the service

  editor.onChange = () => {
    saveDraft();
    checking.soon();
  };
  editor.assist({
    async complete(code, cursor) {
      const here = session.get();
      if (!here || here.status !== "idle") return null;
      const found = await api.complete(here.id, code, cursor).catch(() => null);
      return found && { matches: found.matches, start: found.cursor_start, end: found.cursor_end };
    },
    async inspect(code, cursor) {
      const here = session.get();
      if (!here || here.status !== "idle") return null;
      const found = await api.inspect(here.id, code, cursor).catch(() => null);
      return found?.found ? (found.data["text/plain"] ?? null) : null;
    },
    format: (code) => formatted(language.get(), code),
  });
  editor.widget.onDidChangeCursorPosition(({ position }) => fill(status.position, `Ln ${position.lineNumber}, Col ${position.column}`));

  // The terminal

  const terminal = new SessionTerminal(() => void newSession(shell));
  function toggleTerminal(): void {
    const open = !terminal.element.isConnected;
    terminalButton.setAttribute("aria-pressed", String(open));
    outArea.classList.toggle("with-terminal", open);
    if (open) {
      outArea.append(terminal.element);
      terminal.open();
    } else {
      terminal.close();
      terminal.element.remove();
    }
    sized();
  }

  async function copyOutput(): Promise<void> {
    const { text, whole } = shell.text();
    const lines = text.replace(/\n$/, "").split("\n").length;
    if (text === "") return toast("There is no output to copy.");
    try {
      await navigator.clipboard.writeText(text);
      const what = { all: "", stdout: " of standard output", stderr: " of standard error" }[shell.filtered];
      toast(whole ? `Copied ${counted(lines, "line")}${what}.` : `Copied the last ${counted(lines, "line")}${what} (${bytes(text.length)}). Earlier output is no longer kept.`);
    } catch {
      toast("The browser did not allow copying.", "bad");
    }
  }

  // Sharing

  async function share(): Promise<void> {
    const { stdin, args } = options.get();
    const { language: name, files: own } = draftOf();
    const link = await linkOf({ language: name, files: own.map((file) => ({ name: file.name, text: file.text })), ...(stdin ? { stdin } : {}), ...(args ? { args } : {}) });
    try {
      await navigator.clipboard.writeText(link);
      toast(link.length > 30_000 ? "Link copied. It is very long, and some apps may truncate it." : "Link copied. The link contains the code itself.");
    } catch {
      dialog("Link to this code", h("div", { class: "form" }, h("textarea", { readonly: true, rows: "6", "aria-label": "Link" }, link)));
    }
  }
  function take(shared: Shared): void {
    replace({ language: shared.language, files: shared.files, ...(shared.args ? { args: splitQuietly(shared.args) } : {}), ...(shared.stdin ? { stdin: shared.stdin } : {}) }, "Opened code from a link. Read it before you run it.");
    window.history.replaceState(null, "", location.pathname);
  }
  window.addEventListener("hashchange", () => {
    const before = hasToken();
    takeToken();
    if (!before && hasToken()) void learn();
    void sharedIn(location.hash).then((shared) => shared && take(shared));
  });

  // The token

  let asking: { close(): void } | null = null;
  function askToken(wrong: boolean): void {
    if (asking) return;
    const field = h("input", { type: "password", autocomplete: "off", spellcheck: "false", "aria-describedby": "token-hint" });
    const keep = h("input", { type: "checkbox" });
    const form = h("form", { class: "form", onsubmit: (event) => {
      event.preventDefault();
      if (!field.value.trim()) return;
      setToken(field.value, keep.checked);
      // The next dialog may open before this one has reported that it is closed.
      asking = null;
      open.close();
      void learn();
    } },
      h("p", { id: "token-hint" }, wrong ? "The service did not accept this token. " : "Enter your access token. ", "To print your token, run:"),
      h("pre", { class: "plain" }, "emberbox token show"),
      h("label", {}, "Token", field),
      h("label", { class: "check" }, keep, "Remember the token in this browser"),
      h("div", { class: "row end" }, h("button", { type: "submit", class: "button primary" }, "Continue")));
    const open = dialog("Access token", form, { fixed: true });
    asking = open;
    field.focus();
  }
  onUnauthorized(() => {
    const wrong = hasToken();
    forgetToken();
    askToken(wrong);
  });

  async function learn(): Promise<void> {
    if (!hasToken()) return askToken(false);
    try {
      languages.set(await api.languages());
    } catch {
      return;
    }
    checking.again();
    await refreshSessions();
    const id = sessionKept.get() ?? null;
    const found = id && (sessions.get() ?? []).find((item) => item.id === id && item.status !== "ended");
    if (found && !session.get()) {
      if (language.get() !== found.language) language.set(found.language);
      session.set(found);
      shell.note("Reconnected to your session.");
    }
    void status.learn();
    panels.find((panel) => panel.name === panelChosen.get())?.shown?.();
  }

  // Files that are dropped on the page go along, or into the session.
  let over = 0;
  const dropping = (change: number): void => {
    over = Math.max(0, over + change);
    root.classList.toggle("dropping", over > 0);
  };
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  root.addEventListener("dragenter", (event) => hasFiles(event) && dropping(1));
  root.addEventListener("dragleave", (event) => hasFiles(event) && dropping(-1));
  // Before the editor, which would take it for text.
  root.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault(), true);
  root.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    dropping(-over);
    openPanel("files");
    void files.take([...(event.dataTransfer?.files ?? [])]);
  }, true);

  status.tick = () => {
    if (session.get() || panelChosen.get() === "sessions") void refreshSessions();
  };
  show(drafts.of(language.get()) ?? template(language.get()));
  openPanel(innerWidth > 760 ? panelChosen.get() : null);
  drawPlace();
  sized();
  const shared = await sharedIn(location.hash);
  if (shared) take(shared);
  await status.look();
  root.dataset["ready"] = "";
}

void start();
