// The row below the output that sends input to the program.
import type { Console } from "./console";
import { h, icon } from "./dom";

const PROMPT = 150; // milliseconds of silence after a line without a newline, which is a question
const SILENT = 700; // the same after anything else: the program may still read input

/** Sends text to the program; null is the end of its input. */
export type Give = (text: string | null) => Promise<unknown>;

export class InputRow {
  readonly element: HTMLFormElement;
  readonly #field = h("input", { type: "text", "aria-label": "Input for the program", "aria-describedby": "input-goes", spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  readonly #shell: Console;
  readonly #resized: () => void;
  #give: Give | null = null;
  #timer = 0;
  #typed = false; // the keyboard was used since the run began: the row must not take the focus

  constructor(shell: Console, resized: () => void) {
    this.#shell = shell;
    this.#resized = resized;
    this.element = h("form", { class: "input-row", onsubmit: (event) => {
      event.preventDefault();
      this.#send(`${this.#field.value}\n`);
    } },
      icon("terminal"), h("span", { class: "hint", id: "input-goes" }, "Goes to the program:"), this.#field,
      h("button", { type: "submit", class: "button small primary" }, "Send"),
      h("button", { type: "button", class: "button small", title: "End the input (Ctrl+D)", onclick: () => this.#send(null) }, "End"));
    this.element.hidden = true;
    this.#field.addEventListener("keydown", (event) => {
      if (event.ctrlKey && event.key === "d") {
        event.preventDefault();
        this.#send(null);
      }
    });
    document.addEventListener("keydown", (event) => void (this.#typed ||= !event.ctrlKey && !event.metaKey), true);
    shell.onOutput = () => this.#wait();
    // Characters typed at the console go to the program.
    shell.onKey = (text) => {
      if (!this.#give) return;
      this.#show(true);
      this.#field.value += text;
    };
  }

  /** Called when a run begins. */
  prepare(): void {
    this.#typed = false;
  }

  begin(give: Give): void {
    this.#give = give;
    this.#wait();
  }

  end(): void {
    this.#give = null;
    window.clearTimeout(this.#timer);
    if (this.element.hidden) return;
    const focused = this.element.contains(document.activeElement);
    this.element.hidden = true;
    this.#field.value = "";
    if (focused) this.#shell.terminal.focus();
    this.#resized();
  }

  #wait(): void {
    window.clearTimeout(this.#timer);
    if (!this.#give) return;
    const asks = this.#shell.asks;
    this.#timer = window.setTimeout(() => this.#give && this.#show(asks && !this.#typed), asks ? PROMPT : SILENT);
  }

  #show(focus: boolean): void {
    this.#field.placeholder = this.#shell.asks ? "Type an answer and press Enter" : "Type here if the program reads input";
    if (this.element.hidden) {
      this.element.hidden = false;
      this.#resized();
    }
    if (focus) this.#field.focus();
  }

  #send(text: string | null): void {
    const give = this.#give;
    if (!give) return;
    if (text !== null) this.#shell.write("input", text);
    this.#field.value = "";
    give(text).catch((error: Error) => this.#shell.note(error.message, "bad"));
    if (text === null) this.end();
  }
}
