// The console: what programs write, as a terminal shows it. Where a run begins and ends, and what the page says of it, is no
// part of the terminal's text but drawn over its rows, in another font and to the edge: a program cannot make its own.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type IBufferLine, type IDisposable, type ILink, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { confirmed } from "./dialog";
import { h } from "./dom";

export type Stream = "stdout" | "stderr" | "note" | "input";
type Filter = "all" | "stdout" | "stderr";

const MEMORY = 4 << 20; // characters that are kept to show again, and to be copied
const SCROLLBACK = 5000; // lines that can be scrolled back to
const WAITING = 1 << 20; // characters that the terminal has not drawn yet; then who writes has to wait

/** What a line of the page says: how a run began or ended, or a word about it. */
export type Kind = "start" | "ok" | "bad" | "stopped" | "warn" | "info";

/** Sequences that move the cursor elsewhere than on; what is written then may not be at the end. */
const MOVES = /\x1b(?:[78M]|\[[\d;?]*[ABEFHSTdfsu]|\[\?(?:47|1047|1049)[hl])/;

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
    scrollback: SCROLLBACK,
    // For decorations: they are what the page draws over rows.
    allowProposedApi: true,
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
function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

export class Console {
  readonly terminal: Terminal;
  /** Something was written by a program. */
  onOutput: () => void = () => {};
  /** More was written than can be scrolled back to, or that is over. */
  onCut: (cut: boolean) => void = () => {};
  /** A character was typed at the console. */
  onKey: (text: string) => void = () => {};
  readonly #fit: FitAddon;
  readonly #empty = h("div", { class: "console-empty" });
  #chunks: { stream: Stream; text: string; kind?: Kind }[] = [];
  #size = 0;
  /** The oldest of what was written is not kept any more. */
  #lost = false;
  #cut = false;
  #moved = false;
  #marks: IDisposable[] = [];
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
    terminal.onWriteParsed(() => this.#setCut(terminal.buffer.normal.baseY >= SCROLLBACK));
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

  #setCut(cut: boolean): void {
    if (cut === this.#cut) return;
    this.#cut = cut;
    this.onCut(cut);
  }

  write(stream: Stream, text: string): void {
    if (text === "") return;
    this.#keep({ stream, text });
    this.#show(stream, text);
    if (stream !== "note") this.onOutput();
  }

  #keep(chunk: { stream: Stream; text: string; kind?: Kind }): void {
    this.#empty.hidden = true;
    this.#chunks.push(chunk);
    this.#size += chunk.text.length;
    while (this.#size > MEMORY && this.#chunks.length > 1) {
      this.#size -= this.#chunks.shift()?.text.length ?? 0;
      this.#lost = true;
    }
  }

  #show(stream: Stream, text: string): void {
    if (this.#filter !== "all" && stream !== this.#filter) return;
    const colour = { stdout: null, stderr: "31", input: "36", note: null }[stream];
    this.#waiting += text.length;
    this.#moved ||= MOVES.test(text);
    this.terminal.write(colour ? `\x1b[${colour}m${text}\x1b[39m` : text, () => {
      this.#waiting -= text.length;
      if (this.#waiting < WAITING / 2) this.#drained.splice(0).forEach((call) => call());
    });
    this.#column0 = text.endsWith("\n");
  }

  /** The page's own words, over rows that are left empty for them. */
  #mark(text: string, kind: Kind, first: boolean): void {
    const { terminal } = this;
    // Out of the other screen, scrolling region and attributes that a program may have left; where it was, or below all.
    const reset = `\x1b[?47l\x1b7\x1b[r\x1b8\x1b[m\x1b]8;;\x1b\\\x1b[?25h${this.#moved ? "\x1b[9999;1H\r\n" : ""}`;
    const lines = wrapped(text, terminal.cols - 1);
    terminal.write(`${reset}${this.#column0 ? "" : "\r\n"}${kind === "start" && !first ? "\r\n" : ""}`, () => {
      const marker = terminal.registerMarker(0);
      const mark = marker && terminal.registerDecoration({ marker, width: terminal.cols, height: lines.length, layer: "top" });
      if (!mark) return;
      this.#marks.push(mark);
      mark.onRender((element) => {
        if (element.classList.contains("mark")) return;
        element.classList.add("mark", kind);
        element.style.setProperty("--row", `${element.offsetHeight / lines.length || 16}px`);
        element.title = text;
        element.textContent = lines.join("\n");
      });
    });
    terminal.write("\r\n".repeat(lines.length));
    this.#moved = false;
    this.#column0 = true;
  }

  /** A word of the page's. */
  note(text: string, kind: Kind = "info"): void {
    const safe = text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
    const first = this.#chunks.length === 0;
    this.#keep({ stream: "note", text: safe, kind });
    this.#mark(safe, kind, first);
  }

  /** The first line of a run, apart from what was before. */
  heading(text: string): void {
    this.note(`▸ ${text}`, "start");
  }

  #reset(): void {
    this.#marks.splice(0).forEach((mark) => mark.dispose());
    this.terminal.reset();
    this.#column0 = true;
    this.#moved = false;
    this.#setCut(false);
  }

  set filter(filter: Filter) {
    this.#filter = filter;
    this.#reset();
    this.#chunks.forEach(({ stream, text, kind }, at) => (kind ? this.#mark(text, kind, at === 0) : this.#show(stream, text)));
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
    this.#lost = false;
    this.#reset();
    this.#empty.hidden = false;
  }

  /** What is kept of it, without colours and movements; `whole`: nothing was left out. */
  text(): { text: string; whole: boolean } {
    const shown = this.#chunks.filter((chunk) => this.#filter === "all" || chunk.stream === "note" || chunk.stream === this.#filter);
    let all = "";
    for (const { stream, text } of shown) all += stream === "note" ? `${all === "" || all.endsWith("\n") ? "" : "\n"}${text}\n` : text;
    return { text: all.replace(/\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[\x20-\x2f]*[\x30-\x7e])/g, "").replaceAll("\r\n", "\n"), whole: !this.#lost };
  }

  /** Only one stream of it is seen. */
  get filtered(): Filter {
    return this.#filter;
  }
}
