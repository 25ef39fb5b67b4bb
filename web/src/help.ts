// What the keyboard does.
import { dialog } from "./dialog";
import { h } from "./dom";

const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

const below = /Linux|X11/.test(navigator.platform) ? "Shift+Alt+↓" : `${command}+Alt+↓`;

const KEYS: [string, string][] = [
  [`${command}+Enter`, "Run"],
  ["Shift+Enter", "Run what is selected"],
  [`${command}+.`, "Stop"],
  [`${command}+S`, "Write a file of the session back"],
  ["Shift+Alt+F", "Format"],
  [`${command}+Space`, "Complete; in a session from what it holds"],
  [`${command}+D`, "Select the next of the same, too"],
  [`Alt+Click, ${below}`, "One more cursor"],
  [`${command}+F, ${command}+H`, "Find, replace"],
  [`${command}+/`, "Comment, uncomment"],
  ["Alt+↑, Alt+↓", "Move the line"],
  ["F8", "To the next error"],
  ["F1", "All commands of the editor"],
  [`${command}+M`, "Let Tab leave the editor"],
  ["F2, Delete", "On a tab: rename, close"],
];

export function showHelp(): void {
  dialog("Keyboard", h("div", { class: "form" },
    h("table", { class: "facts keys" }, h("tbody", {}, ...KEYS.map(([keys, what]) => h("tr", {}, h("th", { scope: "row" }, ...keys.split(", ").flatMap((one, at) => [at > 0 ? " " : "", h("kbd", {}, one)])), h("td", {}, what))))),
    h("p", { class: "hint" }, "The editor is Monaco, and has the keys of VS Code.")));
}
