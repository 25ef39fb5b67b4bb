// The panels at the side: options of a run, sessions, containers.
import { api, ApiError, type Container, type Profile, type Session } from "./api";
import type { Console } from "./console";
import { confirmed, dialog, toast } from "./dialog";
import { ago, bytes, counted, fill, h, icon, iconButton, listed, seconds } from "./dom";
import { limitsChosen, refreshSessions, runAt, type Watcher } from "./runner";
import { displayOf, language, languageOf, languages, noOptions, options, session, sessions, type RunOptions } from "./state";
import { variables } from "./words";

const missing = (error: unknown): boolean => error instanceof ApiError && (error.status === 404 || error.status === 405);

export function optionsPanel(): HTMLElement {
  const fields: { key: keyof RunOptions; element: HTMLInputElement | HTMLTextAreaElement }[] = [];
  const wire = <T extends HTMLInputElement | HTMLTextAreaElement>(key: keyof RunOptions, element: T): T => {
    element.addEventListener("input", () => options.set({ ...options.get(), [key]: element.value }));
    fields.push({ key, element });
    return element;
  };
  const area = (key: keyof RunOptions, label: string, placeholder: string): HTMLElement =>
    h("label", {}, label, wire(key, h("textarea", { rows: "3", placeholder, spellcheck: "false", "data-field": label })));
  const text = (key: keyof RunOptions, label: string, placeholder: string): HTMLElement =>
    h("label", {}, label, wire(key, h("input", { type: "text", placeholder, spellcheck: "false", autocomplete: "off", "data-field": label })));
  const tty = h("input", { type: "checkbox" });
  tty.addEventListener("change", () => options.set({ ...options.get(), tty: tty.checked ? "1" : "" }));
  options.watch((now) => {
    tty.checked = now.tty !== "";
    tty.disabled = now.stdin !== "" || session.get() !== null;
  });
  const reset = h("button", { type: "button", class: "button", onclick: () => options.set(noOptions) }, "Reset to defaults");
  const scope = h("p", { class: "hint" }, "A session keeps the arguments, environment and limits it was started with. Standard input and time apply to each cell.");
  const element = h("div", { class: "panel-body form" },
    area("stdin", "Standard input", "Leave empty to type input while the program runs"),
    h("label", { class: "check", title: "For programs that draw on the screen or read single keys. Click the output and type; output and errors are shown together." }, tty, "Run in a terminal"),
    text("args", "Arguments", "one 'two words'"),
    area("env", "Environment", "NAME=VALUE, one per line"),
    scope,
    h("fieldset", {}, h("legend", {}, "Limits"),
      h("div", { class: "grid" }, text("timeout", "Time (seconds)", "30"), text("memory", "Memory", "512m"), text("cpus", "Cores", "1"), text("pids", "Processes", "64"),
        text("cpu_time", "CPU time", "No limit"), text("disk", "Disk", "1g"))),
    h("fieldset", {}, h("legend", {}, "Network"),
      h("select", { "aria-label": "Network" }, h("option", {}, "None"), h("option", { disabled: true }, "Selected hosts (not available yet)"))),
    h("fieldset", {}, h("legend", {}, "Packages"),
      h("input", { type: "text", disabled: true, "aria-label": "Packages", placeholder: "Not available yet" }),
      h("p", { class: "hint" }, "Programs can use the packages installed on this machine.")),
    reset,
  );
  // A session keeps the options that it was started with.
  session.watch((place) => {
    scope.hidden = place === null;
    tty.disabled = place !== null || options.get().stdin !== "";
    for (const { key, element: field } of fields) field.disabled = place !== null && key !== "stdin" && key !== "timeout";
  });
  options.watch(() => void (reset.disabled = optionsSet() === 0));
  options.watch((now) => fields.forEach(({ key, element: field }) => field.value !== now[key] && (field.value = now[key] ?? "")));
  return element;
}

/** How many options differ from the defaults. */
export const optionsSet = (): number => Object.values(options.get()).filter((value) => value.trim() !== "").length;

function meter(used: number | undefined, limit: number | undefined): HTMLElement | null {
  if (used === undefined || !limit) return null;
  const share = Math.min(100, Math.round((used / limit) * 100));
  return h("div", { class: "meter-row" },
    h("div", { class: `meter${share > 85 ? " high" : ""}`, role: "meter", "aria-label": "Memory", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(share) }, h("span", { style: `width: ${share}%` })),
    h("span", { class: "hint" }, `${bytes(used)} of ${bytes(limit)}`));
}

export const memoryMeter = meter;

export async function newSession(shell: Console): Promise<void> {
  const limits = limitsChosen();
  try {
    const env = variables(options.get().env);
    const taken = new Set((sessions.get() ?? []).map((item) => item.name));
    let number = 1;
    while (taken.has(`Session ${number}`)) number++;
    const made = await api.newSession({ language: language.get(), name: `Session ${number}`, ...(Object.keys(limits).length ? { limits } : {}), ...(Object.keys(env).length ? { env } : {}) });
    session.set(made);
    shell.note(`${displayOf(made.language)} session started. Variables and files are kept from cell to cell.`);
    toast(`${made.name} started.`);
  } catch (error) {
    toast(missing(error) ? "Sessions are not available on this service." : (error as Error).message, "bad");
  }
  await refreshSessions();
}

const INTERRUPTED = 130; // how a cell ends that was stopped

/** Its cells, the newest first: what led to what it holds. */
async function showCells(item: Session, open: (item: Session, code: string) => void): Promise<void> {
  try {
    const { cells } = await api.cells(item.id);
    const box = dialog(`Cells of ${item.name || displayOf(item.language)}`, h("div", { class: "form" },
      cells.length === 0 ? h("p", { class: "hint" }, "No cells yet.") : null,
      ...cells.slice().reverse().map((cell) => h("section", { class: "cell" },
        h("header", { class: "row" }, h("span", { class: `dot ${cell.status}` }), h("h3", {}, `Cell ${cell.count}`), h("span", { class: "hint" }, `${cell.exit_code === INTERRUPTED ? "interrupted" : cell.status.replaceAll("_", " ")} · ${seconds(cell.execution_time)} · ${ago(cell.timestamp)}`), h("span", { class: "grow" }),
          h("button", { type: "button", class: "button small", onclick: () => { box.close(); open(item, cell.code); } }, "Open in the editor")),
        h("pre", { class: "plain", tabindex: "0" }, cell.code)))), { wide: true });
  } catch (error) {
    toast((error as Error).message, "bad");
  }
}

export function sessionsPanel(shell: Console, choose: (item: Session) => void, open: (item: Session, code: string) => void): HTMLElement {
  const list = h("div", { class: "cards" });
  const fresh = h("button", { type: "button", class: "button", onclick: () => session.set(null) }, "Run without a session");
  const act = (what: Promise<unknown>, told: string): void => {
    what.then(() => toast(told), (error: Error) => toast(error.message, "bad")).finally(() => void refreshSessions());
  };
  const restart = async (item: Session): Promise<void> => {
    if (!(await confirmed("Restart session?", "Its variables, files and processes will be lost.", "Restart"))) return;
    act(api.restart(item.id).then((now) => session.get()?.id === item.id && session.set(now)), "Session restarted.");
  };
  const end = async (item: Session, mine: boolean): Promise<void> => {
    if (item.status !== "ended" && item.cells > 0 && !(await confirmed("End session?", "Its variables, files and processes will be lost.", "End session"))) return;
    act(api.endSession(item.id).then(() => mine && session.set(null)), "Session ended.");
  };
  const card = (item: Session): HTMLElement => {
    const mine = session.get()?.id === item.id;
    const ended = item.status === "ended";
    return h("article", { "data-id": item.id, class: `card session${mine ? " current" : ""}${ended ? " ended" : ""}`, "aria-label": `${displayOf(item.language)} session` },
      h("header", {}, h("span", { class: `dot ${item.status}`, title: item.status }), h("h3", {}, item.name || `Session ${item.id.slice(-6)}`),
        h("span", { class: "actions" },
          ended ? null : iconButton("interrupt", "Interrupt", () => act(api.interrupt(item.id), "Interrupted."), { disabled: item.status !== "busy" }),
          ended ? null : iconButton("cells", "Show cells", () => void showCells(item, open)),
          ended ? null : iconButton("restart", "Restart", () => void restart(item)),
          ended ? null : iconButton("trash", "End session", () => void end(item, mine)))),
      h("p", { class: "hint" }, `${displayOf(item.language)} · ${item.status === "busy" ? "running a cell" : item.status} · ${counted(item.cells, "cell")} · ${ago(item.last_used)}`),
      item.reason ? h("p", { class: "hint" }, item.reason) : null,
      ended ? null : meter(item.memory_used, item.memory_limit),
      ended ? null : mine ? h("p", { class: "hint here" }, "Your code runs here.") : h("button", { type: "button", class: "button small", onclick: () => choose(item) }, "Run code here"));
  };
  const draw = (): void => {
    const all = sessions.get();
    if (all === null) fill(list, h("p", { class: "hint" }, "Sessions are not available. Each run starts in a clean sandbox."));
    else if (all.length === 0) fill(list, h("p", { class: "hint" }, "In a session, each run can use what earlier runs defined."));
    else {
      const focused = list.contains(document.activeElement) ? document.activeElement : null;
      const where = focused && [focused.closest("[data-id]")?.getAttribute("data-id"), focused.getAttribute("aria-label")] as const;
      const [live, over] = [all.filter((item) => item.status !== "ended"), all.filter((item) => item.status === "ended")];
      const gone = h("details", { class: "ended-list" }, h("summary", {}, `${over.length} ended`), h("div", { class: "cards" }, ...over.map(card)));
      gone.open = list.querySelector<HTMLDetailsElement>(".ended-list")?.open ?? false;
      fill(list, ...live.map(card), over.length > 0 ? gone : null);
      // The focus stays where it was.
      if (where) [...list.querySelectorAll<HTMLElement>("button")].find((item) => item.closest("[data-id]")?.getAttribute("data-id") === where[0] && item.getAttribute("aria-label") === where[1])?.focus();
    }
    fresh.hidden = session.get() === null;
  };
  sessions.watch(draw);
  session.changed(draw);
  const button = h("button", { type: "button", class: "button primary", onclick: () => void newSession(shell) });
  const none = h("p", { class: "hint" });
  const drawButton = (): void => {
    const name = language.get();
    fill(button, icon("plus"), `New ${displayOf(name)} session`);
    button.disabled = languageOf(name)?.session === false || sessions.get() === null;
    none.hidden = languageOf(name)?.session !== false;
    none.textContent = `Sessions are not available for ${displayOf(name)}. Languages with sessions: ${listed(languages.get().filter((item) => item.session && item.available).map((item) => item.display))}.`;
  };
  language.watch(drawButton);
  languages.changed(drawButton);
  sessions.changed(drawButton);
  return h("div", { class: "panel-body" },
    button,
    none,
    fresh,
    list);
}

export class Containers {
  readonly element = h("div", { class: "panel-body" });
  constructor(readonly shell: Console, readonly code: () => string, readonly runs: () => void, readonly watcher: () => Watcher) {}

  async draw(): Promise<void> {
    try {
      const [{ containers: profiles }, { containers: live }] = await Promise.all([api.profiles(), api.containers()]);
      fill(this.element,
        h("h3", {}, "Profiles", iconButton("restart", "Refresh", () => void this.draw())),
        profiles.length === 0
          ? h("p", { class: "hint" }, "No profiles yet. A profile is a named sandbox with its own language and limits. Profiles are defined in registry.yaml in the service's directory.")
          : h("div", { class: "cards" }, ...profiles.map((item) => this.#profile(item))),
        h("h3", {}, "Running"),
        live.length === 0 ? h("p", { class: "hint" }, "No containers are running.") : h("div", { class: "cards" }, ...live.map((item) => this.#container(item))),
      );
    } catch (error) {
      fill(this.element, h("p", { class: "hint" }, (error as Error).message));
    }
  }

  async #start(profile: Profile, confirm?: string): Promise<void> {
    try {
      await api.startContainer({ container: profile.name, ...(confirm ? { confirm } : {}) });
    } catch (error) {
      if (error instanceof ApiError && error.confirm && (await confirmed(`Start ${profile.name}?`, error.message, "Start"))) return this.#start(profile, error.confirm);
      if (!(error instanceof ApiError && error.confirm)) toast((error as Error).message, "bad");
    }
    await this.draw();
  }

  #profile(item: Profile): HTMLElement {
    const { memory, cpus, timeout } = item.resources;
    const facts = [displayOf(item.language), memory, cpus && counted(Number(cpus), "core"), timeout && `${timeout} s`, item.security.needs_confirm && "needs confirmation"].filter(Boolean);
    return h("article", { class: "card", "aria-label": `Profile ${item.name}` },
      h("header", {}, h("h3", {}, item.name), h("span", { class: "actions" }, h("button", { type: "button", class: "button small", onclick: () => void this.#start(item) }, "Start"))),
      h("p", {}, item.description), h("p", { class: "hint" }, facts.join(" · ")));
  }

  #container(item: Container): HTMLElement {
    const command = h("input", { type: "text", placeholder: "Command", "aria-label": `Command for ${item.container}`, spellcheck: "false", autocomplete: "off" });
    const exec = async (event: Event): Promise<void> => {
      event.preventDefault();
      const what = command.value.trim() ? { command: command.value } : { code: this.code() };
      this.runs();
      await runAt("/containers/exec", { id: item.id, ...what }, `${item.container} · ${what.command ?? "code"}`, this.shell, this.watcher());
      await this.draw();
    };
    return h("article", { class: "card", "aria-label": `Container of ${item.container}` },
      h("header", {}, h("span", { class: `dot ${item.status === "running" ? "idle" : "ended"}` }), h("h3", {}, item.container), h("span", { class: "hint" }, item.id.slice(-6)),
        h("span", { class: "actions" }, iconButton("stop", "Stop container", () => void api.stopContainer(item.id).catch((error: Error) => toast(error.message, "bad")).finally(() => void this.draw())))),
      h("p", { class: "hint" }, `${counted(item.execs, "run")} · started ${ago(item.started)}${item.reason ? ` · ${item.reason}` : ""}`),
      meter(item.memory_used, item.memory_limit),
      item.status === "running" ? h("form", { class: "row", onsubmit: (event) => void exec(event) }, command, h("button", { type: "submit", class: "button small" }, "Run")) : null,
      item.status === "running" ? h("p", { class: "hint" }, "Leave the command empty to run the code in the editor.") : null);
  }
}

/** Text for a language in a list: its name and version, or what it lacks. */
export const languageLabel = (name: string): string => {
  const item = languageOf(name);
  if (!item) return name;
  // "Python 3.11.2" says it twice; the number is enough.
  const version = /\d+(?:\.\d+)*/.exec(item.version ?? "")?.[0];
  return item.available ? `${item.display}${version ? ` ${version}` : ""}` : `${item.display} (not installed)`;
};
