// The status bar: connection, isolation, warm sandboxes, the session's memory and the last run.
import { api, ApiError, hasToken, onReach, type Doctor, type Health } from "./api";
import { plain } from "./advice";
import { dialog } from "./dialog";
import { counted, fill, h, icon } from "./dom";
import { lastResult, reached, session } from "./state";
import { memoryMeter } from "./panels";
import { summary } from "./runner";

const EVERY = 3000; // milliseconds between two requests; a hidden page sends none

export class Status {
  readonly element = h("footer", { class: "status" });
  readonly #link = h("span", { class: "item", role: "status" });
  readonly #layers = h("button", { type: "button", class: "item", onclick: () => this.#explain() });
  readonly #pool = h("span", { class: "item pool" });
  readonly #session = h("span", { class: "item memory" });
  readonly #last = h("span", { class: "item last" });
  readonly position = h("span", { class: "item position" });
  #doctor: Doctor | null = null;
  #uptime = 0;
  #asked = 0;
  #version = "";

  /** Called after each answer of the service. */
  tick: () => void = () => {};

  /** `back`: it can be reached again; `restarted` is true when it is another than before. */
  constructor(readonly back: (restarted: boolean) => void, readonly gone: () => void) {
    this.element.append(this.#link, this.#layers, this.#pool, this.#session, this.#last, h("span", { class: "grow" }), this.position);
    onReach((answered) => {
      if (!answered) this.#set("no");
      else if (reached.get() === "no") void this.look();
    });
    reached.watch(() => this.#drawLink());
    lastResult.watch((result) => fill(this.#last, result ? summary(result) : ""));
    session.watch((place) => fill(this.#session, place && place.status !== "ended" ? memoryMeter(place.memory_used, place.memory_limit) : null));
    window.setInterval(() => document.visibilityState === "visible" && void this.look(), EVERY);
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void this.look());
  }

  #set(now: "yes" | "no"): void {
    const before = reached.get();
    reached.set(now);
    if (now === "no" && before === "yes") this.gone();
  }

  #drawLink(): void {
    const now = reached.get();
    const text = now === "yes" ? `emberbox ${this.#version}` : now === "no" ? "Cannot reach the service" : "Connecting";
    fill(this.#link, h("span", { class: `dot ${now === "yes" ? "idle" : now === "no" ? "failed" : "busy"}` }), text);
  }

  async look(): Promise<void> {
    if (this.#asked && Date.now() - this.#asked < EVERY / 2 && reached.get() !== "no") return;
    this.#asked = Date.now();
    try {
      // Without a token there is less to know.
      const health: Pick<Health, "version" | "uptime"> & { ready?: number | null } = hasToken() ? await api.status() : await api.health();
      const restarted = health.uptime < this.#uptime;
      const before = reached.get();
      this.#uptime = health.uptime;
      this.#version = health.version;
      this.#set("yes");
      if (before !== "yes" || restarted) {
        this.#drawLink();
        this.back(restarted && before !== "unknown");
        void this.learn();
      } else if (hasToken()) {
        this.tick();
      }
      if (health.ready !== undefined) this.#drawPool(health.ready);
    } catch (error) {
      // 503: it is there, and cannot run anything now.
      this.#set(error instanceof ApiError && error.status > 0 ? "yes" : "no");
    }
  }

  /** The isolation layers, which only a token can see. */
  async learn(): Promise<void> {
    if (!hasToken()) return;
    try {
      this.#doctor = await api.doctor();
      const { layers, healthy } = this.#doctor;
      const held = layers.filter((layer) => layer.state === "enforced").length;
      fill(this.#layers, icon("shield"), `${held} of ${layers.length} layers`, h("span", { class: "wide-only" }, "of isolation"));
      this.#layers.title = "How programs are isolated";
      this.#layers.classList.toggle("bad", !healthy);
    } catch {
      this.#layers.replaceChildren();
    }
  }

  #drawPool(ready: number | null): void {
    this.#pool.title = "Sandboxes that are ready, with the interpreter already running";
    fill(this.#pool, icon("bolt"), ready === null ? "" : `${counted(ready, "warm sandbox", "warm sandboxes")}`);
    this.#pool.hidden = ready === null;
  }

  #explain(): void {
    const doctor = this.#doctor;
    if (!doctor) return;
    const inForce = lastResult.get()?.meta.isolation ?? session.get()?.isolation ?? [];
    dialog("How programs are isolated", h("div", { class: "form" },
      h("table", { class: "facts layers" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Layer"), h("th", { scope: "col" }, "State"), h("th", { scope: "col" }, "How"))),
        h("tbody", {}, ...doctor.layers.map((layer) => h("tr", {}, h("th", { scope: "row" }, layer.name), h("td", { class: layer.state === "enforced" ? "good" : "bad" }, layer.state), h("td", {}, plain(layer.detail), layer.fix ? h("div", { class: "hint" }, plain(layer.fix)) : null))))),
      inForce.length > 0 ? h("section", {}, h("h3", {}, "Applied to the last run"),
        h("table", { class: "facts layers" }, h("tbody", {}, ...inForce.map((layer) => layer.split(/: (.*)/s)).map(([name, how]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, how)))))) : null,
      h("p", { class: "hint" }, `Kernel ${doctor.kernel}. The service runs as user ${doctor.uid}.`)), { wide: true });
  }
}
