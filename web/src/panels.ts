// The panels at the side: options of a run, sessions, containers.
import { api, ApiError, type Container, type Profile } from "./api";
import type { Console } from "./console";
import { confirmed, toast } from "./dialog";
import { ago, bytes, fill, h, icon, iconButton } from "./dom";
import { limitsChosen, refreshSessions, runAt } from "./runner";
import { displayOf, language, languageOf, noOptions, options, session, sessions, type RunOptions } from "./state";
import type { Session } from "./session_types";

const missing = (error: unknown): boolean => error instanceof ApiError && (error.status === 404 || error.status === 405);

export function optionsPanel(): HTMLElement {
  const fields: { key: keyof RunOptions; element: HTMLInputElement | HTMLTextAreaElement }[] = [];
  const wire = <T extends HTMLInputElement | HTMLTextAreaElement>(key: keyof RunOptions, element: T): T => {
    element.addEventListener("input", () => options.set({ ...options.get(), [key]: element.value }));
    fields.push({ key, element });
    return element;
  };
  const area = (key: keyof RunOptions, label: string, placeholder: string): HTMLElement =>
    h("label", {}, label, wire(key, h("textarea", { rows: "3", placeholder, spellcheck: "false" })));
  const text = (key: keyof RunOptions, label: string, placeholder: string): HTMLElement =>
    h("label", {}, label, wire(key, h("input", { type: "text", placeholder, spellcheck: "false", autocomplete: "off" })));
  const element = h("div", { class: "panel-body form" },
    area("stdin", "Standard input", "what the program reads"),
    text("args", "Arguments", "one 'two words'"),
    area("env", "Environment", "NAME=VALUE, one a line"),
    h("fieldset", {}, h("legend", {}, "Limits"),
      h("div", { class: "grid" }, text("timeout", "Seconds", "30"), text("memory", "Memory", "512m"), text("cpus", "Cores", "1"), text("pids", "Processes", "64"))),
    h("fieldset", {}, h("legend", {}, "Network"),
      h("select", { "aria-label": "Network" }, h("option", {}, "none"), h("option", { disabled: true }, "chosen hosts (not yet available)"))),
    h("fieldset", {}, h("legend", {}, "Packages"),
      h("input", { type: "text", disabled: true, "aria-label": "Packages", placeholder: "not yet available" }),
      h("p", { class: "hint" }, "Programs use what is installed on this machine.")),
    h("button", { type: "button", class: "button", onclick: () => options.set(noOptions) }, "Back to the defaults"),
  );
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
    const made = await api.newSession({ language: language.get(), ...(Object.keys(limits).length ? { limits } : {}) });
    session.set(made);
    shell.note(`Session of ${displayOf(made.language)} begun${made.start ? `, ${made.start}` : ""}: what a run defines is there for the next.`, "36");
  } catch (error) {
    toast(missing(error) ? "This service has no sessions yet." : (error as Error).message, "bad");
  }
  await refreshSessions();
}

export function sessionsPanel(shell: Console, choose: (item: Session) => void): HTMLElement {
  const list = h("div", { class: "cards" });
  const act = (what: Promise<unknown>, told: string): void => {
    what.then(() => toast(told), (error: Error) => toast(error.message, "bad")).finally(() => void refreshSessions());
  };
  const restart = async (item: Session): Promise<void> => {
    if (!(await confirmed("Restart the session", "All that it holds is lost: variables, files, processes.", "Restart"))) return;
    act(api.restart(item.id).then((now) => session.get()?.id === item.id && session.set(now)), "The session was restarted.");
  };
  const card = (item: Session): HTMLElement => {
    const mine = session.get()?.id === item.id;
    const ended = item.status === "ended";
    return h("article", { class: `card session${mine ? " current" : ""}${ended ? " ended" : ""}`, "aria-label": `Session of ${displayOf(item.language)}` },
      h("header", {}, h("span", { class: `dot ${item.status}`, title: item.status }), h("h3", {}, item.name || displayOf(item.language)), h("span", { class: "hint" }, item.id.slice(-6)),
        h("span", { class: "actions" },
          ended ? null : iconButton("interrupt", "Interrupt", () => act(api.interrupt(item.id), "Interrupted.")),
          ended ? null : iconButton("restart", "Restart", () => void restart(item)),
          iconButton("trash", "End the session", () => act(api.endSession(item.id).then(() => mine && session.set(null)), "The session has ended.")))),
      h("p", { class: "hint" }, `${item.status} · ${item.cells ?? 0} cells${item.last_used ? ` · ${ago(item.last_used)}` : ""}`),
      item.reason ? h("p", { class: "hint" }, item.reason) : null,
      ended ? null : meter(item.memory_used, item.memory_limit),
      ended ? null : h("button", { type: "button", class: "button small", disabled: mine, onclick: () => choose(item) }, mine ? "Code runs here" : "Run code here"));
  };
  const draw = (): void => {
    const all = sessions.get();
    if (all === null) fill(list, h("p", { class: "hint" }, "This service has no sessions yet: every run has a fresh box."));
    else if (all.length === 0) fill(list, h("p", { class: "hint" }, "A session keeps its interpreter: what one run defines, the next can use, and programs can ask questions."));
    else fill(list, ...all.map(card));
  };
  sessions.watch(draw);
  session.changed(draw);
  const button = h("button", { type: "button", class: "button primary", onclick: () => void newSession(shell) });
  language.watch((name) => fill(button, icon("plus"), `New ${displayOf(name)} session`));
  sessions.changed(() => fill(button, icon("plus"), `New ${displayOf(language.get())} session`));
  return h("div", { class: "panel-body" },
    button,
    h("button", { type: "button", class: "button", onclick: () => session.set(null) }, "Run in fresh boxes"),
    list);
}

export class Containers {
  readonly element = h("div", { class: "panel-body" });
  constructor(readonly shell: Console, readonly code: () => string) {}

  async draw(): Promise<void> {
    try {
      const [{ containers: profiles }, { containers: live }] = await Promise.all([api.profiles(), api.containers()]);
      fill(this.element,
        h("h3", {}, "Profiles", iconButton("restart", "Look again", () => void this.draw())),
        profiles.length === 0
          ? h("p", { class: "hint" }, "The registry has no profiles. They are written into registry.yaml in the service's directory.")
          : h("div", { class: "cards" }, ...profiles.map((item) => this.#profile(item))),
        h("h3", {}, "Running"),
        live.length === 0 ? h("p", { class: "hint" }, "No container runs.") : h("div", { class: "cards" }, ...live.map((item) => this.#container(item))),
      );
    } catch (error) {
      fill(this.element, h("p", { class: "hint" }, (error as Error).message));
    }
  }

  async #start(profile: Profile, confirm?: string): Promise<void> {
    try {
      await api.startContainer({ container: profile.name, ...(confirm ? { confirm } : {}) });
    } catch (error) {
      if (error instanceof ApiError && error.confirm && (await confirmed(`Start ${profile.name}`, error.message, "Start it"))) return this.#start(profile, error.confirm);
      if (!(error instanceof ApiError && error.confirm)) toast((error as Error).message, "bad");
    }
    await this.draw();
  }

  #profile(item: Profile): HTMLElement {
    const { memory, cpus, timeout } = item.resources;
    const facts = [displayOf(item.language), memory, cpus && `${cpus} cores`, timeout && `${timeout} s`, item.security.needs_confirm && "asks first"].filter(Boolean);
    return h("article", { class: "card", "aria-label": `Profile ${item.name}` },
      h("header", {}, h("h3", {}, item.name), h("span", { class: "actions" }, h("button", { type: "button", class: "button small", onclick: () => void this.#start(item) }, "Start"))),
      h("p", {}, item.description), h("p", { class: "hint" }, facts.join(" · ")));
  }

  #container(item: Container): HTMLElement {
    const command = h("input", { type: "text", placeholder: "a command, or empty for the editor's code", "aria-label": `Command for ${item.container}`, spellcheck: "false", autocomplete: "off" });
    const exec = async (event: Event): Promise<void> => {
      event.preventDefault();
      const what = command.value.trim() ? { command: command.value } : { code: this.code() };
      await runAt("/containers/exec", { id: item.id, ...what }, `${item.container} · ${what.command ?? "code"}`, this.shell, null);
      await this.draw();
    };
    return h("article", { class: "card", "aria-label": `Container of ${item.container}` },
      h("header", {}, h("span", { class: `dot ${item.status === "running" ? "idle" : "ended"}` }), h("h3", {}, item.container), h("span", { class: "hint" }, item.id.slice(-6)),
        h("span", { class: "actions" }, iconButton("stop", "Stop the container", () => void api.stopContainer(item.id).catch((error: Error) => toast(error.message, "bad")).finally(() => void this.draw())))),
      h("p", { class: "hint" }, `${item.execs} runs · started ${ago(item.started)}${item.reason ? ` · ${item.reason}` : ""}`),
      meter(item.memory_used, item.memory_limit),
      item.status === "running" ? h("form", { class: "row", onsubmit: (event) => void exec(event) }, command, h("button", { type: "submit", class: "button small" }, "Run")) : null);
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
