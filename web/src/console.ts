// The console: what programs write, as a terminal shows it, between a line for each beginning and each end.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

export type Stream = "stdout" | "stderr" | "note" | "input";
type Filter = "all" | "stdout" | "stderr";

const MEMORY = 1 << 20; // characters that are kept to show again

const themes: Record<"dark" | "light", ITheme> = {
  dark: {
    background: "#121014", foreground: "#e8e2dc", cursor: "#121014", cursorAccent: "#121014", selectionBackground: "#5a3a2a",
    black: "#2a262f", red: "#ff7b72", green: "#9ccc7a", yellow: "#e5c07b", blue: "#79b8ff", magenta: "#d2a8ff", cyan: "#7fd0d8", white: "#d8cfc6",
    brightBlack: "#857b8a", brightRed: "#ffa198", brightGreen: "#b9e29b", brightYellow: "#f2d492", brightBlue: "#a5d0ff", brightMagenta: "#e2c5ff", brightCyan: "#a8e6ec", brightWhite: "#ffffff",
  },
  light: {
    background: "#fbf8f4", foreground: "#2b2622", cursor: "#fbf8f4", cursorAccent: "#fbf8f4", selectionBackground: "#ffd9c2",
    black: "#2b2622", red: "#b3261e", green: "#37711f", yellow: "#855400", blue: "#1559a8", magenta: "#7a3aa3", cyan: "#0f6b78", white: "#6b6259",
    brightBlack: "#756b61", brightRed: "#c5362d", brightGreen: "#41802a", brightYellow: "#8f5f0a", brightBlue: "#2667b5", brightMagenta: "#8a49b3", brightCyan: "#1b7683", brightWhite: "#2b2622",
  },
};

export const consoleTheme = (dark: boolean): ITheme => themes[dark ? "dark" : "light"];

/** A link that a program printed is opened only when it is asked for, and gets nothing of this page. */
export function openLink(address: string): void {
  if (/^https?:\/\//.test(address) && window.confirm(`Open this link, which the program printed?\n\n${address}`))
    window.open(address, "_blank", "noopener,noreferrer");
}

export class Console {
  readonly terminal: Terminal;
  readonly #fit = new FitAddon();
  #chunks: { stream: Stream; text: string }[] = [];
  #size = 0;
  #filter: Filter = "all";
  #column0 = true;

  constructor(place: HTMLElement, dark: boolean) {
    this.terminal = new Terminal({
      convertEol: true,
      disableStdin: true,
      scrollback: 5000,
      fontSize: innerWidth > 760 ? 13 : 12,
      lineHeight: 1.25,
      fontFamily: "ui-monospace, 'SF Mono', 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace",
      theme: consoleTheme(dark),
      // Whatever colours a program chooses can be read.
      minimumContrastRatio: 4.5,
      screenReaderMode: true,
      cursorInactiveStyle: "none",
      linkHandler: { activate: (_event, address) => openLink(address) },
    });
    this.terminal.loadAddon(this.#fit);
    this.terminal.open(place);
    // Tab leaves it, as it leaves any text that cannot be written to.
    this.terminal.attachCustomKeyEventHandler((event) => event.key !== "Tab");
    new ResizeObserver(() => this.fit()).observe(place);
    this.fit();
  }

  fit(): void {
    if (this.terminal.element?.offsetParent) this.#fit.fit();
  }

  setTheme(dark: boolean): void {
    this.terminal.options.theme = consoleTheme(dark);
  }

  write(stream: Stream, text: string): void {
    if (text === "") return;
    this.#chunks.push({ stream, text });
    this.#size += text.length;
    while (this.#size > MEMORY && this.#chunks.length > 1) this.#size -= this.#chunks.shift()?.text.length ?? 0;
    this.#show(stream, text);
  }

  #show(stream: Stream, text: string): void {
    if (this.#filter !== "all" && stream !== "note" && stream !== this.#filter) return;
    if (stream === "stderr") this.terminal.write(`\x1b[31m${text}\x1b[39m`);
    else if (stream === "input") this.terminal.write(`\x1b[36m${text}\x1b[39m`);
    else this.terminal.write(text);
    this.#column0 = text.endsWith("\n");
  }

  /** A line of ours: begins at the left, in the terminal's plain state whatever a program left it in. */
  note(text: string, colour = "90"): void {
    // Out of the other screen, scrolling region and attributes that a program may have left; where it was.
    const reset = "\x1b[?47l\x1b7\x1b[r\x1b8\x1b[m\x1b[?25h";
    const safe = text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
    this.write("note", `${reset}${this.#column0 ? "" : "\r\n"}\x1b[${colour}m${safe}\x1b[m\r\n`);
  }

  /** A note as wide as the console. */
  rule(text: string, colour: string): void {
    this.note(`── ${text} `.padEnd(Math.min(100, this.terminal.cols - 1), "─"), colour);
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
  }

  text(): string {
    return this.#chunks.map((chunk) => chunk.text).join("");
  }
}
