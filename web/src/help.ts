// The list of keyboard shortcuts.
import { dialog } from "./dialog";
import { h } from "./dom";

const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

const below = /Linux|X11/.test(navigator.platform) ? "Shift+Alt+↓" : `${command}+Alt+↓`;

const KEYS: [string, string][] = [
  [`${command}+Enter`, "Run"],
  ["Shift+Enter", "Run selection"],
  [`${command}+.`, "Stop"],
  [`${command}+S`, "Save a session file"],
  ["Shift+Alt+F", "Format code"],
  [`${command}+Space`, "Complete code"],
  [`${command}+D`, "Add next match to selection"],
  [`Alt+Click, ${below}`, "Add a cursor"],
  [`${command}+F, ${command}+H`, "Find, replace"],
  [`${command}+/`, "Toggle comment"],
  ["Alt+↑, Alt+↓", "Move line"],
  ["F8", "Go to next problem"],
  ["F1", "Command palette"],
  [`${command}+M`, "Let Tab leave the editor"],
  ["F2, Delete", "Rename or close the selected tab"],
];

export function showHelp(): void {
  dialog("Keyboard shortcuts", h("div", { class: "form" },
    h("table", { class: "facts keys" }, h("tbody", {}, ...KEYS.map(([keys, what]) => h("tr", {}, h("th", { scope: "row" }, ...keys.split(", ").flatMap((one, at) => [at > 0 ? " " : "", h("kbd", {}, one)])), h("td", {}, what))))),
    h("p", { class: "hint" }, "The editor is Monaco. VS Code shortcuts work here.")));
}
