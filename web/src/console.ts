// The console: what programs write, as a terminal shows it. Where a run begins and ends, and what the page says of it, is no
// part of the terminal's text but drawn over its rows, in another font and to the edge: a program cannot make its own.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type IBufferLine, type IDecoration, type ILink, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { confirmed } from "./dialog";
import { h, later } from "./dom";

export type Stream = "stdout" | "stderr" | "note" | "input";
type Filter = "all" | "stdout" | "stderr";

const MEMORY = 4 << 20; // characters that are kept to show again, and to be copied
const SCROLLBACK = 5000; // lines that can be scrolled back to
const SMALL = 128 << 10; // characters that are written again at once
const WAITING = 1 << 20; // characters that the terminal has not drawn yet; with more, the writer has to wait

/** Kinds of the page's own lines: the start of a run, how it ended, or a remark. */
export type Kind = "start" | "ok" | "bad" | "stopped" | "warn" | "info";

/** Sequences that move the cursor other than forward; text written after them may not be at the end. */
const MOVES = /\x1b(?:[78M]|\[[\d;?]*[ABEFHSTdfsu]|\[\?(?:47|1047|1049)[hl])/;

/** Text as it was written. `kind`: it is a line of the page's; `screen`: the program after it has the screen to itself. */
interface Chunk {
  stream: Stream;
  text: string;
  kind?: Kind;
  screen?: boolean;
}

/** Something to be written later, and how many characters of programs it has. */
interface Held {
  write: () => void;
  size: number;
}

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

/** Addresses in a line of the terminal, including those that continue in the next row. */
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
export function terminalOf(place: HTMLElement, dark: boolean, more: { convertEol?: boolean; disableStdin?: boolean; reflowCursorLine?: boolean; theme?: ITheme }): { terminal: Terminal; fit: FitAddon } {
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

const ruler = document.createElement("canvas").getContext("2d");

/** How many rows a line of the page's needs at a width in pixels. */
function rowsOf(text: string, width: number): number {
  if (!ruler) return 1;
  // As .mark in style.css has it; the first line of a run is bold, which is wider.
  ruler.font = `600 12.5px ${getComputedStyle(document.body).fontFamily}`;
  let rows = 1;
  let line = 0;
  for (const word of text.split(/(?<= )/)) {
    const size = ruler.measureText(word).width;
    if (line > 0 && line + ruler.measureText(word.trimEnd()).width > width) {
      rows++;
      line = 0;
    }
    // A word that is wider than a row continues in the next row.
    rows += Math.max(0, Math.ceil(size / width) - 1);
    line += size % width;
  }
  return rows;
}

export class Console {
  readonly terminal: Terminal;
  /** Called when a program has written something. */
  onOutput: () => void = () => {};
  /** Called when the scrollback has become full, or empty again. */
  onCut: (cut: boolean) => void = () => {};
  /** Called when a character was typed at the console. */
  onKey: (text: string) => void = () => {};
  readonly #fit: FitAddon;
  readonly #empty = h("div", { class: "console-empty" });
  #chunks: Chunk[] = [];
  #size = 0;
  /** The oldest text is no longer kept. */
  #lost = false;
  #cut = false;
  #moved = false;
  #marks: { shown: IDecoration; rows: number }[] = [];
  /** Writes that wait until it is known where the text ends; null: it is known. */
  #held: Held[] | null = null;
  #resets = 0;
  #filter: Filter = "all";
  #column0 = true;
  #waiting = 0;
  /** Writes that the terminal has not parsed yet. */
  #pending = 0;
  #drained: (() => void)[] = [];
  #keys: ((text: string) => void) | null = null;

  constructor(place: HTMLElement, dark: boolean, empty: (Node | string)[]) {
    const { terminal, fit } = terminalOf(place, dark, { convertEol: true, disableStdin: true, reflowCursorLine: true });
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
    this.#guard();
    terminal.onWriteParsed(() => this.#setCut(terminal.buffer.normal.baseY >= SCROLLBACK));
    new ResizeObserver(() => this.fit()).observe(place);
    this.fit();
  }

  /** The page's own lines are on the screen that programs write to. */
  #marked(): boolean {
    const { active, normal } = this.terminal.buffer;
    return active.type === "normal" && this.#marks.some(({ shown, rows }) => shown.marker.line + rows > normal.baseY);
  }

  /** Keeps the page's lines where they are, and nothing of a program's under them. */
  #guard(): void {
    const { terminal } = this;
    // A screen that is cleared is pushed into the scrollback, together with the page's lines.
    terminal.parser.registerCsiHandler({ final: "J" }, ([what]) => {
      terminal.options.scrollOnEraseInDisplay = this.#marked();
      return what === 3;
    });
    // Sequences that would remove earlier text, or insert, delete or scroll lines among the page's own, are ignored.
    terminal.parser.registerEscHandler({ final: "c" }, () => true);
    for (const final of ["L", "M", "S", "T", "r"]) terminal.parser.registerCsiHandler({ final }, () => this.#marked());
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

  /** The program's last line has no newline: it is a question, or more will follow. */
  get asks(): boolean {
    return !this.#column0;
  }

  /** Fits the terminal to its place. If the end was visible, it stays visible: at another width the text has other rows. */
  fit(): void {
    const { element, cols } = this.terminal;
    // During layout the place can be a column or two wide, which would truncate the text.
    if (!element?.offsetParent || element.clientWidth < 80) return;
    const { viewportY, baseY } = this.terminal.buffer.active;
    this.#fit.fit();
    if (viewportY < baseY) return;
    this.terminal.scrollToBottom();
    if (this.terminal.cols !== cols) this.#widthChanged();
  }

  /** The page's own lines have the rows that they needed at their first width. At another width everything is written again,
   *  unless it is long, or a program has the screen. */
  readonly #widthChanged = later(150, () => {
    const { viewportY, baseY } = this.terminal.buffer.active;
    if (this.#size > SMALL || this.#keys !== null || viewportY < baseY) return;
    // What is still to be drawn would be drawn twice.
    if (this.#pending > 0 || this.#held) this.#widthChanged();
    else this.filter = this.#filter;
  });


  /** The height of the text in pixels, when all of it is drawn. */
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

  #keep(chunk: Chunk): void {
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
    this.#write(colour ? `\x1b[${colour}m${text}\x1b[39m` : text, text.length, () => this.#written(text.length));
    this.#column0 = text.endsWith("\n");
  }

  #written(size: number): void {
    this.#waiting -= size;
    if (this.#waiting < WAITING / 2) this.#drained.splice(0).forEach((call) => call());
  }

  #write(text: string, size = 0, then?: () => void): void {
    this.#pending++;
    const write = (): void => this.terminal.write(text, () => {
      this.#pending--;
      then?.();
    });
    if (this.#held) this.#held.push({ write, size });
    else write();
  }

  /** Moves the cursor below all text on the screen once earlier writes are drawn; later writes wait for that. */
  #goBelow(): void {
    const { terminal } = this;
    const resets = this.#resets;
    const held: Held[] = [];
    const go = (): void => terminal.write("", () => {
      const { active } = terminal.buffer;
      let row = terminal.rows - 1;
      while (row >= 0 && !active.getLine(active.baseY + row)?.translateToString(true)) row--;
      for (const { shown, rows } of this.#marks) row = Math.max(row, shown.marker.line - active.baseY + rows - 1);
      row = Math.max(row, active.cursorX > 0 ? active.cursorY : active.cursorY - 1) + 1;
      if (resets === this.#resets) terminal.write(row < terminal.rows ? `\x1b[${row + 1};1H` : "\x1b[9999;1H\r\n");
      // One of these writes may hold those after it again.
      this.#held = null;
      for (let next = held.shift(); next; next = held.shift()) {
        next.write();
        const after = this.#held as Held[] | null;
        if (after) return void after.push(...held);
      }
    });
    if (this.#held) {
      this.#pending++;
      this.#held.push({ write: () => {
        this.#pending--;
        this.#held = held;
        go();
      }, size: 0 });
    } else {
      this.#held = held;
      go();
    }
  }

  /** Draws a line of the page's, over rows that are left empty for it. */
  #mark({ text, kind = "info", screen = false }: Chunk, first: boolean): void {
    const { terminal } = this;
    // Leaves the alternate screen, mouse reports, modes and attributes that a program may have set.
    this.#write("\x1b[?47;1000;1002;1003l\x1b[!p\x1b]8;;\x1b\\");
    if (this.#moved) this.#goBelow();
    const begin = this.#column0 || this.#moved ? "" : "\r\n";
    const rows = rowsOf(text, (terminal.element?.querySelector(".xterm-screen")?.clientWidth || terminal.cols * 7) - 16);
    this.#write(`${begin}${kind === "start" && !first ? "\r\n" : ""}`, 0, () => {
      const marker = terminal.registerMarker(0);
      const mark = marker && terminal.registerDecoration({ marker, width: terminal.cols, height: rows, layer: "top" });
      if (!mark) return;
      this.#marks.push({ shown: mark, rows });
      mark.onRender((element) => {
        if (element.classList.contains("mark")) return;
        element.classList.add("mark", kind);
        element.style.setProperty("--row", `${element.offsetHeight / rows || 16}px`);
        element.style.setProperty("--rows", String(rows));
        element.title = text;
        // The browser breaks the lines, so that they fit another width as well.
        element.append(h("div", {}, text));
      });
    });
    this.#write("\r\n".repeat(rows));
    if (screen) this.#write(`${"\r\n".repeat(terminal.rows - 1)}\x1b[H`);
    this.#moved = false;
    this.#column0 = true;
  }

  /** Writes a line of the page's. */
  note(text: string, kind: Kind = "info", screen = false): void {
    const first = this.#chunks.length === 0;
    const chunk: Chunk = { stream: "note", text: text.replace(/[\x00-\x1f\x7f-\x9f]/g, " "), kind, screen };
    this.#keep(chunk);
    this.#mark(chunk, first);
  }

  /** The first line of a run, set apart from earlier text. `screen`: the program gets an empty screen, and earlier text can be
   *  scrolled back to. */
  heading(text: string, screen = false): void {
    this.note(`▸ ${text}`, "start", screen);
  }

  #reset(): void {
    this.#resets++;
    this.#held?.splice(0).forEach(({ size }) => {
      this.#pending--;
      this.#written(size);
    });
    this.#marks.splice(0).forEach(({ shown }) => shown.dispose());
    this.terminal.reset();
    this.#column0 = true;
    this.#moved = false;
    this.#setCut(false);
  }

  set filter(filter: Filter) {
    this.#filter = filter;
    this.#reset();
    this.#chunks.forEach((chunk, at) => (chunk.kind ? this.#mark(chunk, at === 0) : this.#show(chunk.stream, chunk.text)));
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
    this.#lost = false;
    this.#reset();
    this.#empty.hidden = false;
  }

  /** The kept text without escape sequences; `whole`: all of it is kept. */
  text(): { text: string; whole: boolean } {
    const shown = this.#chunks.filter((chunk) => this.#filter === "all" || chunk.stream === "note" || chunk.stream === this.#filter);
    let all = "";
    for (const { stream, text } of shown) all += stream === "note" ? `${all === "" || all.endsWith("\n") ? "" : "\n"}${text}\n` : text;
    return { text: all.replace(/\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[\x20-\x2f]*[\x30-\x7e])/g, "").replaceAll("\r\n", "\n"), whole: !this.#lost };
  }

  /** The stream that is shown. */
  get filtered(): Filter {
    return this.#filter;
  }
}
