// Past runs: searched, opened, run again, compared.
import { api, type Execution, type ExecutionList } from "./api";
import { sideBySide } from "./compare";
import { knownOf } from "./languages";
import { dialog, toast } from "./dialog";
import { ago, bytes, clock, counted, fill, h, iconButton, later, seconds } from "./dom";
import { displayOf, read, write, type Draft } from "./state";
import { summary } from "./runner";
import type { Result } from "./api";

type Row = ExecutionList["executions"][number];

const STATUSES = ["ok", "failed", "timeout", "out_of_memory", "output_limit", "killed", "blocked", "error", "running", "interrupted"];
const KEPT = 60; // programs of this page, for services that do not keep code

/** Code that ran from this browser: by default the service keeps the code of failures only. */
interface Program {
  id: string;
  code: string;
  draft?: Draft;
  /** It was ended by Stop. */
  stopped?: boolean;
}

/** Reads them each time: other tabs of this browser add theirs. */
const programs = (): Program[] => read<Program[]>("programs") ?? [];

/** `draft`: everything that is needed to run it again. */
export function remember(id: string, code: string, draft: Draft, stopped: boolean): void {
  if (JSON.stringify(draft).length > 64 << 10) return;
  write("programs", [{ id, code, draft, ...(stopped ? { stopped } : {}) }, ...programs().filter((item) => item.id !== id)].slice(0, KEPT));
}

const codeOf = (item: Execution): string | null => {
  if (typeof item.code === "string") return item.code;
  return programs().find((program) => program.id === item.id)?.code ?? null;
};

/** Its status, as this page says it: what was ended by Stop has not failed. */
const statusOf = ({ id, status }: { id: string; status: string }): string =>
  programs().find((program) => program.id === id)?.stopped ? "stopped" : status;

/** The draft of a past run; null: its code is not known. */
function draftOf(item: Execution): Draft | null {
  const code = codeOf(item);
  if (code === null) return null;
  const name = item.language ?? "";
  return programs().find((program) => program.id === item.id)?.draft ?? { language: name, files: [{ name: knownOf(name).file, text: code }], args: item.request?.args ?? [] };
}

export class History {
  readonly element = h("div", { class: "panel-body history" });
  readonly #list = h("ul", { class: "runs", "aria-label": "Past runs" });
  readonly #search = h("input", { type: "search", placeholder: "Search code, errors, IDs", "aria-label": "Search past runs" });
  readonly #language = h("select", { "aria-label": "Language" });
  readonly #status = h("select", { "aria-label": "Status" }, h("option", { value: "" }, "Any status"), ...STATUSES.map((name) => h("option", { value: name }, name.replaceAll("_", " "))));
  readonly #more = h("button", { type: "button", class: "button", onclick: () => void this.#load(this.#next ?? undefined) }, "Older runs");
  readonly #compare = h("button", { type: "button", class: "button small", disabled: true, onclick: () => void this.#showComparison() }, "Compare");
  readonly #hint = h("span", { class: "hint" });
  #rows: Row[] = [];
  #next: string | null = null;
  #chosen: string[] = [];

  constructor(readonly act: { open(draft: Draft): void; rerun(draft: Draft): void }) {
    this.#search.addEventListener("input", () => this.#draw());
    this.#search.addEventListener("input", later(400, () => void this.#lookFurther()));
    this.#language.addEventListener("change", () => void this.#load());
    this.#status.addEventListener("change", () => void this.#load());
    this.element.append(
      h("div", { class: "row" }, this.#search, iconButton("restart", "Refresh", () => void this.#load())),
      h("div", { class: "row" }, this.#language, this.#status),
      h("div", { class: "row" }, this.#compare, this.#hint),
      this.#list, this.#more);
  }

  languages(names: string[]): void {
    fill(this.#language, h("option", { value: "" }, "Any language"), ...names.map((name) => h("option", { value: name }, displayOf(name))));
  }

  show(): void {
    void this.#load();
  }

  async #load(before?: string): Promise<void> {
    const query: Record<string, string> = { limit: "50" };
    if (this.#language.value) query["language"] = this.#language.value;
    if (this.#status.value) query["status"] = this.#status.value;
    if (before) query["before"] = before;
    try {
      const page = await api.executions(query);
      this.#rows = before ? [...this.#rows, ...page.executions] : page.executions;
      this.#next = page.next;
    } catch (error) {
      fill(this.#list, h("li", { class: "hint" }, (error as Error).message));
      return;
    }
    this.#draw();
  }

  #matching(): { rows: Row[]; local: Map<string, Program> } {
    const wanted = this.#search.value.trim().toLowerCase();
    const local = new Map(programs().map((item) => [item.id, item]));
    const has = (row: Row): boolean => [row.id, row.language, displayOf(row.language), row.status, row.error_message, local.get(row.id)?.code].some((text) => text?.toLowerCase().includes(wanted));
    return { rows: wanted ? this.#rows.filter(has) : this.#rows, local };
  }

  /** Loads older runs while no loaded one matches. */
  async #lookFurther(): Promise<void> {
    const wanted = this.#search.value;
    for (let pages = 0; pages < 20 && wanted && this.#search.value === wanted && this.#next && this.#matching().rows.length === 0; pages++) await this.#load(this.#next);
  }

  #draw(): void {
    const { rows, local } = this.#matching();
    const focused = this.#list.contains(document.activeElement) ? [document.activeElement?.closest("[data-id]")?.getAttribute("data-id"), document.activeElement?.tagName] : null;
    fill(this.#list, ...rows.map((row) => this.#row(row, local.get(row.id))));
    if (rows.length === 0) fill(this.#list, h("li", { class: "hint" }, this.#rows.length > 0 ? "No matching runs." : this.#language.value || this.#status.value ? "No runs match these filters." : "No runs yet."));
    if (focused) [...this.#list.querySelectorAll<HTMLElement>(String(focused[1]))].find((item) => item.closest("[data-id]")?.getAttribute("data-id") === focused[0])?.focus();
    this.#more.hidden = this.#next === null;
    this.#compare.disabled = this.#chosen.length !== 2;
    this.#hint.textContent = this.#chosen.length === 0 ? "Select two runs to compare them." : this.#chosen.length === 1 ? "Select one more." : `${counted(this.#chosen.length, "run")} selected.`;
  }

  #row(row: Row, program: Program | undefined): HTMLElement {
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${displayOf(row.language)} run, ${ago(row.timestamp)}` });
    box.checked = this.#chosen.includes(row.id);
    box.addEventListener("change", () => {
      this.#chosen = box.checked ? [...this.#chosen, row.id].slice(-2) : this.#chosen.filter((id) => id !== row.id);
      this.#draw();
    });
    const status = program?.stopped ? "stopped" : row.status;
    const first = program?.code.split("\n").find((line) => line.trim() !== "");
    return h("li", { class: "run", "data-id": row.id }, box,
      h("button", { type: "button", class: "name", onclick: () => void this.#open(row.id) },
        h("span", { class: "row" }, h("span", { class: `dot ${status}` }), h("strong", {}, displayOf(row.language)), h("span", { class: "hint" }, status.replaceAll("_", " ")), h("span", { class: "hint when" }, ago(row.timestamp))),
        first ? h("code", { class: "first" }, first) : null,
        row.error_message && status !== "stopped" ? h("span", { class: "hint bad" }, row.error_message) : null,
        h("span", { class: "hint", title: row.timestamp }, [row.execution_time !== null && seconds(row.execution_time), row.memory_used !== null && bytes(row.memory_used), row.start].filter(Boolean).join(" · "))));
  }

  async #open(id: string): Promise<void> {
    let item: Execution;
    try {
      item = await api.execution(id);
    } catch (error) {
      return toast((error as Error).message, "bad");
    }
    const draft = draftOf(item);
    const code = codeOf(item);
    const name = item.language ?? "";
    const block = (title: string, text: string): HTMLElement | null => (text ? h("section", {}, h("h3", {}, title), h("pre", { class: "plain", tabindex: "0" }, text)) : null);
    const box = dialog(`${displayOf(name)}, ${ago(item.timestamp)}`, h("div", { class: "form" },
      h("p", { class: "hint" }, `${item.id} · ${item.caller ?? ""} · ${"signal" in item && item.status !== "running" && item.status !== "interrupted" ? summary(item as Result, statusOf(item) === "stopped") : item.status}`),
      item.error_message && statusOf(item) !== "stopped" ? h("p", { class: "bad" }, item.error_message) : null,
      code === null ? h("p", { class: "hint" }, "The code of this run was not saved. By default the service saves the code of failed runs only.") : block("Code", code),
      block("Output", item.stdout), block("Errors", item.stderr),
      h("div", { class: "row end" },
        h("button", { type: "button", class: "button", disabled: draft === null, onclick: () => { box.close(); this.act.open(draft!); } }, "Open in the editor"),
        h("button", { type: "button", class: "button primary", disabled: draft === null, onclick: () => { box.close(); this.act.rerun(draft!); } }, "Run again"))), { wide: true });
  }

  async #showComparison(): Promise<void> {
    try {
      const found = await Promise.all(this.#chosen.map((id) => api.execution(id)));
      const [a, b] = found.sort((one, other) => one.timestamp.localeCompare(other.timestamp)) as [Execution, Execution];
      const heads: [string, string] = [`${displayOf(a.language)}, ${clock(a.timestamp)}`, `${displayOf(b.language)}, ${clock(b.timestamp)}`];
      const fact = (name: string, of: (item: Execution) => string, number?: (item: Execution) => number | null): HTMLElement => {
        const [one, other] = number ? [number(a), number(b)] : [null, null];
        const ratio = one && other ? other / one : null;
        const told = ratio === null || (ratio > 0.95 && ratio < 1.05) ? "" : ratio > 1 ? `${ratio.toFixed(ratio < 10 ? 1 : 0)}× as much` : `${Math.round(ratio * 100)}%`;
        return h("tr", { class: of(a) === of(b) ? "same" : "" }, h("th", { scope: "row" }, name), h("td", {}, of(a)), h("td", {}, of(b), told ? h("span", { class: "hint" }, ` ${told}`) : null));
      };
      dialog("Compare two runs (older on the left)", h("div", { class: "form" },
        h("table", { class: "facts" }, h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, heads[0]), h("th", { scope: "col" }, heads[1]))), h("tbody", {},
          fact("Status", (item) => statusOf(item).replaceAll("_", " ")), fact("Exit code", (item) => String(item.exit_code ?? "")), fact("Time", (item) => seconds(item.execution_time), (item) => item.execution_time),
          fact("CPU", (item) => seconds(item.cpu_time), (item) => item.cpu_time), fact("Memory", (item) => bytes(item.memory_used), (item) => item.memory_used), fact("Start", (item) => item.meta.start ?? ""))),
        codeOf(a) === null || codeOf(b) === null ? h("p", { class: "hint" }, "The code of one of these runs was not saved.") : null,
        sideBySide("Code", codeOf(a) ?? "", codeOf(b) ?? "", heads), sideBySide("Output", a.stdout, b.stdout, heads), sideBySide("Errors", a.stderr, b.stderr, heads)), { wide: true });
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }
}
