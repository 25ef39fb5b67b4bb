// The console: what programs write, as a terminal shows it, between a line for each beginning and each end.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type IBufferLine, type ILink, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { confirmed } from "./dialog";
import { h } from "./dom";

export type Stream = "stdout" | "stderr" | "note" | "input";
type Filter = "all" | "stdout" | "stderr";

const MEMORY = 1 << 20; // characters that are kept to show again
const WAITING = 1 << 20; // characters that the terminal has not drawn yet; then who writes has to wait

/** The colour of a line of ours that begins a run: the first of the terminal's extended ones. */
const EMBER = "1;38;5;16";

const themes: Record<"dark" | "light", ITheme> = {
  dark: {
    background: "#121014", foreground: "#e8e2dc", cursor: "#121014", cursorAccent: "#121014", selectionBackground: "#5a3a2a", extendedAnsi: ["#ff8a4c"],
    black: "#2a262f", red: "#ff7b72", green: "#9ccc7a", yellow: "#e5c07b", blue: "#79b8ff", magenta: "#d2a8ff", cyan: "#7fd0d8", white: "#d8cfc6",
    brightBlack: "#857b8a", brightRed: "#ffa198", brightGreen: "#b9e29b", brightYellow: "#f2d492", brightBlue: "#a5d0ff", brightMagenta: "#e2c5ff", brightCyan: "#a8e6ec", brightWhite: "#ffffff",
  },
  light: {
    background: "#fbf8f4", foreground: "#2b2622", cursor: "#fbf8f4", cursorAccent: "#fbf8f4", selectionBackground: "#ffd9c2", extendedAnsi: ["#b4400c"],
    black: "#2b2622", red: "#b3261e", green: "#37711f", yellow: "#855400", blue: "#1559a8", magenta: "#7a3aa3", cyan: "#0f6b78", white: "#6b6259",
    brightBlack: "#756b61", brightRed: "#c5362d", brightGreen: "#41802a", brightYellow: "#8f5f0a", brightBlue: "#2667b5", brightMagenta: "#8a49b3", brightCyan: "#1b7683", brightWhite: "#2b2622",
  },
};

export const consoleTheme = (dark: boolean): ITheme => themes[dark ? "dark" : "light"];

/** A link that a program printed is opened only when it is asked for, and gets nothing of this page. */
export async function openLink(address: string): Promise<void> {
  if (/^https?:\/\/[^\s]+$/i.test(address) && (await confirmed("Open this link?", `The program printed it: ${address}`, "Open")))
    window.open(address, "_blank", "noopener,noreferrer");
}

/** Addresses in a line of the terminal, and those that go on in the next. */
function linksOf(terminal: Terminal, row: number): ILink[] {
  const line = (at: number): IBufferLine | undefined => terminal.buffer.active.getLine(at);
  let first = row - 1;
  while (first > 0 && line(first)?.isWrapped && row - first < 20) first--;
  let text = "";
  for (let at = first; at === first || (line(at)?.isWrapped && at - first < 40); at++) text += (line(at)?.translateToString() ?? "").padEnd(terminal.cols);
  const place = (at: number): { x: number; y: number } => ({ x: (at % terminal.cols) + 1, y: first + Math.floor(at / terminal.cols) + 1 });
  return [...text.matchAll(/https?:\/\/[^\s"'<>`{}|\\^]+[^\s"'<>`{}|\\^.,;:!?)\]]/g)].map((found) => ({
    text: found[0],
    range: { start: place(found.index), end: place(found.index + found[0].length - 1) },
    activate: (_event, address) => void openLink(address),
  }));
}

/** A terminal as this page has them: whatever colours a program chooses can be read, and nothing in it acts by itself. */
export function terminalOf(place: HTMLElement, dark: boolean, more: { convertEol?: boolean; disableStdin?: boolean; theme?: ITheme }): { terminal: Terminal; fit: FitAddon } {
  const terminal = new Terminal({
    scrollback: 5000,
    fontSize: innerWidth > 760 ? 13 : 12,
    lineHeight: 1.25,
    fontFamily: "ui-monospace, 'SF Mono', 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace",
    theme: consoleTheme(dark),
    minimumContrastRatio: 4.5,
    screenReaderMode: true,
    linkHandler: { activate: (_event, address) => void openLink(address) },
    ...more,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.registerLinkProvider({ provideLinks: (row, tell) => tell(linksOf(terminal, row)) });
  terminal.open(place);
  return { terminal, fit };
}

/** Lines of a text that are no wider than so many columns, where its words allow that. */
function wrapped(text: string, columns: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\r\n");
}

export class Console {
  readonly terminal: Terminal;
  /** Something was written by a program. */
  onOutput: () => void = () => {};
  /** A character was typed at the console. */
  onKey: (text: string) => void = () => {};
  readonly #fit: FitAddon;
  readonly #empty = h("div", { class: "console-empty" });
  #chunks: { stream: Stream; text: string }[] = [];
  #size = 0;
  #filter: Filter = "all";
  #column0 = true;
  #waiting = 0;
  #drained: (() => void)[] = [];
  #keys: ((text: string) => void) | null = null;

  constructor(place: HTMLElement, dark: boolean, empty: (Node | string)[]) {
    const { terminal, fit } = terminalOf(place, dark, { convertEol: true, disableStdin: true });
    this.terminal = terminal;
    this.#fit = fit;
    terminal.options.cursorInactiveStyle = "none";
    this.#empty.append(...empty);
    place.append(this.#empty);
    // Tab leaves it, as it leaves any text that cannot be written to.
    terminal.attachCustomKeyEventHandler((event) => {
      if (this.#keys) return true;
      if (event.type === "keydown" && event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        this.onKey(event.key);
      }
      return event.key !== "Tab";
    });
    terminal.onData((text) => this.#keys?.(text));
    new ResizeObserver(() => this.fit()).observe(place);
    this.fit();
  }

  /** Each key goes there as a terminal sends it; null: nowhere. */
  set keys(give: ((text: string) => void) | null) {
    // Another theme draws everything anew.
    if (give === this.#keys) return;
    this.#keys = give;
    this.terminal.options.disableStdin = give === null;
    this.terminal.options.theme = { ...this.terminal.options.theme, cursor: give ? this.terminal.options.theme?.extendedAnsi?.[0] ?? "" : this.terminal.options.theme?.background ?? "" };
    if (give) this.terminal.focus();
  }

  /** A program's last line was not ended: it asks, or has more to say. */
  get asks(): boolean {
    return !this.#column0;
  }

  fit(): void {
    if (this.terminal.element?.offsetParent) this.#fit.fit();
  }

  /** How many pixels high what was written is, when all of it is drawn. */
  height(): Promise<number> {
    return new Promise((done) => this.terminal.write("", () => {
      const { active } = this.terminal.buffer;
      const line = (this.terminal.element?.querySelector(".xterm-screen")?.clientHeight ?? 0) / this.terminal.rows;
      done((active.baseY + active.cursorY + 2) * line);
    }));
  }

  setTheme(dark: boolean): void {
    this.terminal.options.theme = consoleTheme(dark);
  }

  /** More was written than could be drawn yet. */
  get full(): boolean {
    return this.#waiting >= WAITING;
  }

  /** When there is room for more: a program that writes faster than can be drawn has to wait, as at any terminal. */
  drained(): Promise<void> {
    return !this.full ? Promise.resolve() : new Promise((done) => this.#drained.push(done));
  }

  write(stream: Stream, text: string): void {
    if (text === "") return;
    this.#empty.hidden = true;
    this.#chunks.push({ stream, text });
    this.#size += text.length;
    while (this.#size > MEMORY && this.#chunks.length > 1) this.#size -= this.#chunks.shift()?.text.length ?? 0;
    this.#show(stream, text);
    if (stream !== "note") this.onOutput();
  }

  #show(stream: Stream, text: string): void {
    if (this.#filter !== "all" && stream !== "note" && stream !== this.#filter) return;
    const colour = { stdout: null, stderr: "31", input: "36", note: null }[stream];
    this.#waiting += text.length;
    this.terminal.write(colour ? `\x1b[${colour}m${text}\x1b[39m` : text, () => {
      this.#waiting -= text.length;
      if (this.#waiting < WAITING / 2) this.#drained.splice(0).forEach((call) => call());
    });
    this.#column0 = text.endsWith("\n");
  }

  /** A line of ours: begins at the left, in the terminal's plain state whatever a program left it in. */
  note(text: string, colour = "90", apart = false): void {
    // Out of the other screen, scrolling region and attributes that a program may have left; where it was.
    const reset = "\x1b[?47l\x1b7\x1b[r\x1b8\x1b[m\x1b]8;;\x1b\\\x1b[?25h";
    const safe = wrapped(text.replace(/[\x00-\x1f\x7f-\x9f]/g, " "), this.terminal.cols - 1);
    this.write("note", `${reset}${this.#column0 ? "" : "\r\n"}${apart ? "\r\n" : ""}\x1b[${colour}m${safe}\x1b[m\r\n`);
  }

  /** The first line of a run, apart from what was before. */
  heading(text: string): void {
    this.note(`▸ ${text}`, EMBER, this.#chunks.length > 0);
  }

  set filter(filter: Filter) {
    this.#filter = filter;
    this.terminal.reset();
    this.#column0 = true;
    for (const chunk of this.#chunks) this.#show(chunk.stream, chunk.text);
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
    this.#column0 = true;
    this.terminal.reset();
    this.#empty.hidden = false;
  }

  /** What is kept of it, without colours and movements. */
  text(): string {
    const all = this.#chunks.filter((chunk) => this.#filter === "all" || chunk.stream === "note" || chunk.stream === this.#filter).map((chunk) => chunk.text).join("");
    return all.replace(/\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[\x20-\x2f]*[\x30-\x7e])/g, "").replaceAll("\r\n", "\n");
  }
}
