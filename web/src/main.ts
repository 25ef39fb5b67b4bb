// The page: puts its parts together, and holds what they share.
import "./style.css";
import { api, ApiError, forgetToken, hasToken, onUnauthorized, setToken, stream, takeToken, type Fix, type Result } from "./api";
import { asked, dialog, mountMessages, toast } from "./dialog";
import { fill, h, icon, iconButton, later, type IconName } from "./dom";
import type { Mark } from "./editor";
import { attach, Files } from "./files";
import { History, remember } from "./history";
import { formatters, knownOf, syntaxOf } from "./languages";
import { Containers, languageLabel, newSession, optionsPanel, optionsSet, sessionsPanel } from "./panels";
import { errorCard, imageType, leftPicture, richResult } from "./results";
import { refreshSessions, run, stopRun } from "./runner";
import { linkOf, sharedIn, type Shared } from "./share";
import { kept, language, languageOf, languages, lastResult, options, reached, running, session, sessionKept, sessions } from "./state";
import { Status } from "./status";
import { dark, startTheme, theme, type Theme } from "./theme";

takeToken();
startTheme();

interface Draft {
  language: string;
  files: { name: string; text: string }[];
}

/** What was being written, for each language. */
const drafts = kept<Record<string, Draft>>("drafts", {});

async function start(): Promise<void> {
  const app = document.getElementById("app")!;
  const editorPlace = h("div", { class: "editor-place" });
  const consolePlace = h("div", { class: "console-place" });
  // Both are large, and come beside each other; the rest is small.
  const [{ Editor, Keys }, { Console }, { SessionTerminal }] = await Promise.all([import("./editor"), import("./console"), import("./terminal")]);

  // The bar

  const chooser = h("select", { class: "language", "aria-label": "Language" });
  const place = h("select", { class: "place", "aria-label": "Where code runs" });
  const templates = h("select", { class: "templates", "aria-label": "Examples" });
  const runButton = h("button", { type: "button", class: "button primary run", title: "Run (Ctrl+Enter)", onclick: () => void runAll() }, icon("play"), h("span", {}, "Run"));
  const stopButton = h("button", { type: "button", class: "button stop", disabled: true, title: "Stop the run", onclick: () => stopRun() }, icon("stop"), h("span", {}, "Stop"));
  const themeButton = iconButton("theme", "Theme", () => {
    const order: Theme[] = ["system", "light", "dark"];
    theme.set(order[(order.indexOf(theme.get()) + 1) % order.length]!);
    toast(`Theme: ${theme.get() === "system" ? "as the system" : theme.get()}`);
  });
  const bar = h("header", { class: "bar" },
    h("h1", { class: "brand" }, h("img", { src: "/favicon.svg", alt: "", width: "22", height: "22" }), h("span", {}, "ember", h("b", {}, "box"))),
    chooser, place, runButton, stopButton,
    h("span", { class: "grow" }),
    templates,
    iconButton("format", "Format the code", () => void editor.widget.getAction("editor.action.formatDocument")?.run(), { class: "icon-button wide-only" }),
    iconButton("share", "Copy a link to this code", () => void share()),
    themeButton,
  );

  // The middle

  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Files" });
  const addTab = iconButton("plus", "New file", () => void addFile());
  const editArea = h("section", { class: "edit", "aria-label": "Editor" }, h("div", { class: "tab-row" }, tabs, addTab), editorPlace);
  const results = h("div", { class: "results", role: "region", "aria-label": "Results" });
  const inputField = h("input", { type: "text", "aria-label": "Input for the program", placeholder: "Answer the program; Enter sends", spellcheck: "false", autocomplete: "off" });
  const inputRow = h("form", { class: "input-row" }, icon("terminal"), inputField, h("button", { type: "submit", class: "button small" }, "Send"), h("button", { type: "button", class: "button small", title: "The end of the input (Ctrl+D)" }, "End"));
  inputRow.hidden = true;
  const filters = (["all", "stdout", "stderr"] as const).map((name) => h("button", { type: "button", class: "chip", "aria-pressed": String(name === "all"), onclick: (event) => {
    shell.filter = name;
    filters.forEach((button) => button.setAttribute("aria-pressed", String(button === event.currentTarget)));
  } }, name === "all" ? "all" : name));
  const terminalButton = iconButton("terminal", "Terminal of the session", () => toggleTerminal(), { "aria-pressed": "false" });
  const outArea = h("section", { class: "out", "aria-label": "Output" },
    h("div", { class: "out-head" }, h("h2", {}, "Output"), h("span", { class: "chips", role: "group", "aria-label": "Streams shown" }, ...filters), h("span", { class: "grow" }),
      terminalButton, iconButton("clear", "Clear the output", () => { shell.clear(); results.replaceChildren(); sized(); })),
    consolePlace, inputRow, results);
  const splitter = h("div", { class: "splitter", role: "separator", tabindex: "0", "aria-label": "Width of the editor", "aria-orientation": "vertical", "aria-valuemin": "20", "aria-valuemax": "80" });
  const work = h("main", { class: "work" }, editArea, splitter, outArea);

  // The side

  const side = h("aside", { class: "side", "aria-label": "Panel" });
  const rail = h("nav", { class: "rail", "aria-label": "Panels" });
  const root = h("div", { class: "app" }, bar, rail, side, work);
  app.append(root);
  mountMessages(app);

  const editor = new Editor(editorPlace, dark.get());
  const shell = new Console(consolePlace, dark.get());
  dark.changed((now) => {
    editor.setTheme(now);
    shell.setTheme(now);
  });

  const status = new Status(
    (restarted) => {
      if (restarted) {
        shell.note("The service was restarted. What ran is over, and its sessions are gone; the code here is as it was.", "33");
        toast("The service was restarted.");
      }
      banner.hidden = true;
      void learn();
    },
    () => void (banner.hidden = false),
  );
  const banner = h("div", { class: "banner", role: "alert" }, "The service cannot be reached. Your code is safe here; this page goes on when it is back.");
  banner.hidden = true;
  root.append(banner, status.element);

  const files = new Files(editor, { add: () => void addFile(), rename: (index) => void renameFile(index), open: (name, text) => { editor.open(name, text, syntaxOf(name, language.get())); view("code"); } });
  const containers = new Containers(shell, () => editor.active?.model.getValue() ?? "");
  const history = new History({
    open: (name, code) => { show({ language: name, files: [{ name: knownOf(name).file, text: code }] }); view("code"); },
    rerun: (name, code) => { show({ language: name, files: [{ name: knownOf(name).file, text: code }] }); void runAll(); },
  });
  const panels: { name: string; label: string; icon: IconName; element: HTMLElement; shown?: () => void }[] = [
    { name: "files", label: "Files", icon: "files", element: files.element, shown: () => { files.draw(); void files.drawBox(); } },
    { name: "options", label: "Run options", icon: "options", element: optionsPanel() },
    { name: "sessions", label: "Sessions", icon: "sessions", element: sessionsPanel(shell, (item) => { language.set(item.language); session.set(item); }), shown: () => void refreshSessions() },
    { name: "history", label: "History", icon: "history", element: history.element, shown: () => history.show() },
    { name: "containers", label: "Containers", icon: "containers", element: containers.element, shown: () => void containers.draw() },
  ];
  const panelChosen = kept<string | null>("panel", innerWidth > 1100 ? "files" : null);

  /** On a narrow page one thing is seen at a time. */
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
      fill(side, h("header", { class: "side-head" }, h("h2", {}, panel.label), iconButton("close", "Close the panel", () => { openPanel(null); view("code"); })), panel.element);
      panel.shown?.();
    }
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
  const sized = (): void => {
    // The console's size is watched by the console itself.
    outArea.classList.toggle("with-results", results.childElementCount > 0);
  };

  // Files in tabs

  editor.onTabs = () => {
    fill(tabs, ...editor.files.map((file, at) => {
      const chosen = at === editor.activeIndex;
      return h("div", { class: `tab${chosen ? " chosen" : ""}`, role: "presentation" },
        h("button", { type: "button", role: "tab", "aria-selected": String(chosen), tabindex: chosen ? "0" : "-1", onclick: () => { editor.show(at); editor.widget.focus(); }, ondblclick: () => void renameFile(at),
          onkeydown: (event) => {
            const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (!step) return;
            editor.show((at + step + editor.files.length) % editor.files.length);
            tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
          } }, file.name),
        editor.files.length > 1 ? iconButton("close", `Close ${file.name}`, () => editor.close(at), { tabindex: "-1", class: "icon-button tiny" }) : null);
    }));
    files.draw();
  };

  async function addFile(): Promise<void> {
    const suffix = knownOf(language.get()).file.split(".").pop();
    const name = await asked("New file", "Name; it is put beside the program", `helper.${suffix}`);
    if (!name) return;
    if (editor.files.some((file) => file.name === name)) return toast(`There is a file ${name} already`, "bad");
    editor.open(name, "", syntaxOf(name, language.get()));
  }

  async function renameFile(index: number): Promise<void> {
    const file = editor.files[index];
    const name = file && (await asked("Rename", "Name", file.name));
    if (file && name) editor.rename(index, name, syntaxOf(name, language.get()));
  }

  const draftOf = (): Draft => ({ language: language.get(), files: editor.files.map((file) => ({ name: file.name, text: file.model.getValue() })) });
  const saveDraft = later(400, () => drafts.set({ ...drafts.get(), [language.get()]: draftOf() }));

  function show(draft: Draft): void {
    showing = true;
    language.set(languageOf(draft.language)?.name ?? draft.language);
    editor.load(draft.files.map((file) => ({ ...file, syntax: syntaxOf(file.name, draft.language) })));
    showing = false;
    saveDraft();
    check();
  }
  let showing = false;

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
  function drawTemplates(): void {
    fill(templates, h("option", { value: "" }, "Examples"), ...Object.keys(knownOf(language.get()).templates).map((name) => h("option", { value: name }, name)));
  }
  function drawPlace(): void {
    const name = language.get();
    const live = (sessions.get() ?? []).filter((item) => item.language === name && item.status !== "ended");
    const mine = session.get();
    if (mine && !live.some((item) => item.id === mine.id)) live.unshift(mine);
    fill(place, h("option", { value: "" }, "Fresh box"), ...live.map((item) => h("option", { value: item.id }, `Session ${item.name || item.id.slice(-6)}${item.status === "ended" ? " (ended)" : ""}`)),
      h("option", { value: "new", disabled: sessions.get() === null }, sessions.get() === null ? "New session (not yet available)" : "New session…"));
    place.value = mine?.id ?? "";
  }
  chooser.addEventListener("change", () => language.set(chooser.value));
  templates.addEventListener("change", () => {
    const text = knownOf(language.get()).templates[templates.value];
    templates.value = "";
    if (text !== undefined) show({ language: language.get(), files: [{ name: knownOf(language.get()).file, text }] });
  });
  place.addEventListener("change", () => {
    if (place.value === "new") void newSession(shell).finally(drawPlace);
    else session.set((sessions.get() ?? []).find((item) => item.id === place.value) ?? null);
  });
  languages.watch(() => {
    drawChooser();
    history.languages(languages.get().map((item) => item.name));
  });
  language.watch((now, before) => {
    if (now !== before) {
      if (session.get() && session.get()!.language !== now) session.set(null);
      if (!showing) show(drafts.get()[now] ?? template(now));
    }
    chooser.value = now;
    drawTemplates();
    drawPlace();
  });
  sessions.changed(drawPlace);
  session.changed(drawPlace);

  // Running

  let giveInput: ((text: string | null) => void) | null = null;
  inputRow.addEventListener("submit", (event) => {
    event.preventDefault();
    shell.write("input", `${inputField.value}\n`);
    giveInput?.(`${inputField.value}\n`);
    inputField.value = "";
  });
  const endInput = (): void => giveInput?.(null);
  inputRow.lastElementChild!.addEventListener("click", endInput);
  inputField.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "d") {
      event.preventDefault();
      endInput();
    }
  });

  let made = 0;
  let ranFile = 0;
  const watcher = {
    begin(): void {
      made = 0;
      results.replaceChildren();
      editor.clearMarks("run");
      sized();
    },
    output(data: Record<string, unknown>): void {
      results.append(richResult(data, ++made));
      sized();
    },
    ended(result: Result): void {
      if (result.error) showError(result);
      void showPictures(result);
      void status.warmth();
      if (panelChosen.get() === "history") history.show();
      if (panelChosen.get() === "files") void files.drawBox();
    },
    input(send: ((text: string | null) => void) | null): void {
      giveInput = send;
      inputRow.hidden = send === null;
      shell.fit();
    },
  };

  /** Which tab a path of the box is; the program's own where it is not known. */
  function tabOf(path: string | null): number {
    const name = path?.replace(/^.*\/sandbox\/code\//, "").replace(/^\.\//, "");
    const found = editor.files.findIndex((file) => file.name === name || file.name === name?.split("/").pop());
    return found >= 0 ? found : Math.min(ranFile, editor.files.length - 1);
  }

  function showError(result: Result): void {
    const error = result.error as (Result["error"] & { fix?: Fix | null }) | null;
    if (!error) return;
    const at = tabOf(error.file);
    const file = editor.files[at];
    if (error.line && file) editor.mark(file, "run", [{ line: error.line, column: error.column, message: error.message, severity: "error" }]);
    const card = errorCard(error, result.error_message, {
      go: (path, line, column) => { view("code"); editor.go(tabOf(path), line, column ?? 1); },
      apply: (fix) => {
        const target = editor.files[tabOf(fix.file)];
        if (!target) return;
        editor.replace(target, fix.line, fix.column, fix.end_column, fix.text);
        editor.go(tabOf(fix.file), fix.line, fix.column);
        toast("Applied. Ctrl+Z takes it back.");
      },
      close: () => { card.remove(); sized(); },
    });
    results.prepend(card);
    sized();
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

  async function runCode(code: string): Promise<void> {
    const known = languageOf(language.get());
    if (known && !known.available) return void shell.note(`${known.display} is not installed on this machine; install it with: ${known.install}`, "31");
    const inSession = session.get() !== null;
    // In a session the tab that is seen is the cell; otherwise the first is the program.
    ranFile = inSession ? editor.activeIndex : 0;
    const main = editor.files[ranFile]!;
    const others = Object.fromEntries(editor.files.filter((_, at) => at !== ranFile).map((file) => [file.name, file.model.getValue()]));
    if (innerWidth <= 760) view("output");
    const result = await run({ code, name: main.name, usual: languageOf(language.get())?.file ?? knownOf(language.get()).file, files: others }, shell, watcher);
    if (result) remember(result.id, code);
  }
  const runAll = (): Promise<void> => runCode((session.get() ? editor.active : editor.files[0])?.model.getValue() ?? "");
  const runSelection = (): Promise<void> => runCode(editor.selection() || (editor.active?.model.getValue() ?? ""));

  running.watch((now) => {
    runButton.disabled = now;
    stopButton.disabled = !now;
    root.classList.toggle("running", now);
  });
  editor.command("Run", "emberbox.run", [Keys.run], () => void runAll());
  editor.command("Run the selection", "emberbox.run-selection", [Keys.runSelection], () => void runSelection());
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && !event.defaultPrevented && !(event.target as Element | null)?.closest?.("dialog")) {
      event.preventDefault();
      void runAll();
    }
  });

  // What the service knows of the code

  let canCheck = true;
  const check = later(700, () => {
    const file = editor.files[0];
    if (!canCheck || !file || !hasToken() || reached.get() !== "yes") return;
    const code = file.model.getValue();
    api.check(language.get(), code).then((answer) => {
      if (file.model.isDisposed() || file.model.getValue() !== code) return;
      // What is on the list of blocked imports runs all the same, unless the service's policy is to block: no error.
      const level = (severity: string): Mark["severity"] => (severity === "high" || severity === "critical" ? "warning" : "info");
      const found: (Omit<Mark, "line" | "column" | "endColumn"> & { at: { line?: number | null; column?: number | null; end_column?: number | null } })[] = [
        ...(answer.syntax_errors ?? []).map((item) => ({ at: item, message: item.message, severity: "error" as const })),
        ...(answer.imports ?? []).filter((item) => item.reason).map((item) => ({ at: item, message: `${item.module}: ${item.reason}`, severity: level(item.severity) })),
        ...(answer.findings ?? []).map((item) => ({ at: item, message: `${item.call}: ${item.reason}`, severity: level(item.severity) })),
      ];
      editor.mark(file, "check", found.flatMap(({ at, message, severity }) => (at.line ? [{ line: at.line, column: at.column ?? null, endColumn: at.end_column ?? null, message, severity }] : [])));
    }, (error: unknown) => {
      if (error instanceof ApiError && (error.status === 404 || error.status === 405)) canCheck = false;
    });
  });
  editor.onChange = () => {
    saveDraft();
    check();
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
    async format(code) {
      const tidy = `${code.replace(/[ \t]+$/gm, "").replace(/\n+$/, "")}\n`;
      const tool = formatters[language.get()];
      if (!tool || session.get()) return tidy;
      // In a box, like everything else. Where there is no such tool, blanks at the ends are all that is changed.
      const result = await fetchFormat(tool, code);
      return result ?? tidy;
    },
  });
  async function fetchFormat(tool: string, code: string): Promise<string | null> {
    const result = await stream("/v1/execute", { language: "bash", code: tool, stdin: code, timeout: 10 }, {}, new AbortController().signal).catch(() => null);
    if (result && result.status !== "ok" && result.exit_code !== 127) toast(result.stderr.split("\n")[0] || "It cannot be formatted.", "bad");
    return result?.status === "ok" && !result.truncated ? result.stdout : null;
  }
  editor.widget.onDidChangeCursorPosition(({ position }) => fill(status.position, `Ln ${position.lineNumber}, Col ${position.column}`));

  // The terminal

  const terminal = new SessionTerminal();
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

  // Sharing

  async function share(): Promise<void> {
    const { stdin, args } = options.get();
    const link = await linkOf({ ...draftOf(), ...(stdin ? { stdin } : {}), ...(args ? { args } : {}) });
    try {
      await navigator.clipboard.writeText(link);
      toast("The link is on the clipboard. It carries the code itself.");
    } catch {
      dialog("A link to this code", h("div", { class: "form" }, h("textarea", { readonly: true, rows: "6", "aria-label": "Link" }, link)));
    }
  }
  function take(shared: Shared): void {
    show({ language: shared.language, files: shared.files });
    if (shared.stdin || shared.args) options.set({ ...options.get(), stdin: shared.stdin ?? "", args: shared.args ?? "" });
    window.history.replaceState(null, "", location.pathname);
    toast("Code of a link. Read it before you run it.");
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
      // The next may be asked for before this one has told that it is closed.
      asking = null;
      open.close();
      void learn();
    } },
      h("p", { id: "token-hint" }, wrong ? "The service does not know this token. " : "The service wants to know who asks. ", "This prints the token:"),
      h("pre", { class: "plain" }, "emberbox token show"),
      h("label", {}, "Token", field),
      h("label", { class: "check" }, keep, "Keep it in this browser after the tab is closed"),
      h("div", { class: "row end" }, h("button", { type: "submit", class: "button primary" }, "Go on")));
    const open = dialog("Token", form, { fixed: true });
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
    canCheck = true;
    check();
    await refreshSessions();
    const id = sessionKept.get() ?? null;
    const found = id && (sessions.get() ?? []).find((item) => item.id === id && item.status !== "ended");
    if (found && !session.get()) {
      if (language.get() !== found.language) language.set(found.language);
      session.set(found);
      shell.note("This page's session is still there: what it holds can be used.", "36");
    }
    void status.learn();
    panels.find((panel) => panel.name === panelChosen.get())?.shown?.();
  }

  // Files that are dropped on the page go along.
  work.addEventListener("dragover", (event) => event.preventDefault());
  work.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    void attach([...event.dataTransfer.files]).then(() => openPanel("files"));
  });

  show(drafts.get()[language.get()] ?? template(language.get()));
  openPanel(innerWidth > 760 ? panelChosen.get() : null);
  drawPlace();
  sized();
  const shared = await sharedIn(location.hash);
  if (shared) take(shared);
  await status.look();
  root.dataset["ready"] = "";
}

void start();
