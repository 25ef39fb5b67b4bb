// A shell in the session's box, over a WebSocket.
import type { Terminal } from "@xterm/xterm";
import { terminalSocket } from "./api";
import { consoleTheme, terminalOf } from "./console";
import { fill, h } from "./dom";
import { session } from "./state";
import { dark } from "./theme";

export class SessionTerminal {
  readonly element = h("div", { class: "session-terminal", "aria-label": "Session terminal", role: "group" });
  #socket: WebSocket | null = null;
  #terminal: Terminal | null = null;
  readonly #begin: () => void;

  constructor(begin: () => void) {
    this.#begin = begin;
    dark.changed((now) => this.#terminal && (this.#terminal.options.theme = { ...consoleTheme(now), cursor: "#ff8a4c" }));
    session.changed((now, before) => {
      if (now?.id !== before?.id && this.element.isConnected) this.open();
    });
  }

  close(): void {
    this.#socket?.close();
    this.#terminal?.dispose();
    this.#socket = null;
    this.#terminal = null;
  }

  open(): void {
    this.close();
    const place = session.get();
    if (!place || place.status === "ended") {
      fill(this.element, h("p", { class: "hint pad" }, "The terminal is a shell inside a session. ", h("button", { type: "button", class: "link", onclick: this.#begin }, "Start a session")));
      return;
    }
    this.element.replaceChildren();
    const { terminal, fit } = terminalOf(this.element, dark.get(), { theme: { ...consoleTheme(dark.get()), cursor: "#ff8a4c" } });
    this.#terminal = terminal;
    const socket = terminalSocket(place.id);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let opened = false;
    const size = (): void => {
      if (this.element.offsetParent) fit.fit();
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ resize: { rows: terminal.rows, cols: terminal.cols } }));
    };
    socket.onopen = () => {
      opened = true;
      size();
      terminal.focus();
    };
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) terminal.write(new Uint8Array(data));
    };
    socket.onclose = () => {
      if (opened) terminal.write("\r\n\x1b[90mThe terminal was closed.\x1b[m\r\n");
      else fill(this.element, h("p", { class: "hint pad" }, "Could not open a terminal. The session may have ended, or too many terminals are open."));
    };
    const encoder = new TextEncoder();
    terminal.onData((text) => socket.readyState === WebSocket.OPEN && socket.send(encoder.encode(text)));
    new ResizeObserver(size).observe(this.element);
  }
}
