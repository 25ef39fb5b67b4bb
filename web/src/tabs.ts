// The files of the editor as tabs: created, renamed, closed and reopened.
import { asked, toast } from "./dialog";
import { fill, h, iconButton } from "./dom";
import { isChanged, type Editor } from "./editor";
import { knownOf, syntaxOf } from "./languages";
import { attached, language } from "./state";

/** What is wrong with the name of a file; null: nothing. */
function wrongName(editor: Editor, own: number): (name: string) => string | null {
  return (name) => {
    if (name.startsWith("/") || name.split("/").some((part) => part === ".." || part === "." || part === "")) return "Enter a file name or a relative path, such as lib/tools.py.";
    if (name.length > 200) return "This name is too long.";
    if (editor.files.some((file, at) => at !== own && file.name === name)) return `${name} is already open in a tab.`;
    if (attached.get().some((file) => file.name === name)) return `An uploaded file is already called ${name}.`;
    return null;
  };
}

export class Tabs {
  readonly element = h("div", { class: "tabs", role: "tablist", "aria-label": "Files" });

  constructor(readonly editor: Editor) {}

  draw(): void {
    const { editor } = this;
    fill(this.element, ...editor.files.map((file, at) => {
      const chosen = at === editor.activeIndex;
      const changed = isChanged(file);
      const close = (): void => this.close(at);
      return h("div", { class: `tab${chosen ? " chosen" : ""}${changed ? " changed" : ""}`, role: "presentation", onauxclick: (event) => event.button === 1 && close() },
        h("button", { type: "button", role: "tab", "aria-selected": String(chosen), tabindex: chosen ? "0" : "-1",
          title: file.origin ? `/sandbox/${file.origin.path} in the session${changed ? ". Unsaved changes: Ctrl+S saves them there" : ""}` : file.name,
          onclick: () => { editor.show(at); editor.widget.focus(); }, ondblclick: () => void this.rename(at),
          onkeydown: (event) => {
            const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (event.key === "F2") void this.rename(at);
            else if (event.key === "Delete") close();
            else if (step) editor.show((at + step + editor.files.length) % editor.files.length);
            else return;
            event.preventDefault();
            this.element.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
          } }, file.name, changed ? h("span", { class: "visually-hidden" }, ", unsaved changes") : null),
        changed ? h("span", { class: "changed-dot", "aria-hidden": "true" }) : null,
        editor.files.length > 1 ? iconButton("close", `Close ${file.name}`, close, { tabindex: "-1", class: "icon-button tiny" }) : null);
    }));
    this.element.querySelector(".chosen")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  close(at: number): void {
    const { editor } = this;
    const file = editor.files[at];
    if (!file || editor.files.length < 2) return;
    const [text, origin, changed] = [file.model.getValue(), file.origin, isChanged(file)];
    editor.close(at);
    if (text.trim() === "" && !origin) return;
    toast(`Closed ${file.name}.`, "info", { label: "Undo", act: () => {
      const again = editor.open(file.name, text, syntaxOf(file.name, language.get()), Math.min(at, editor.files.length));
      again.origin = origin && { ...origin, saved: changed ? -1 : again.model.getAlternativeVersionId() };
      this.draw();
    } });
  }

  async add(): Promise<void> {
    const suffix = knownOf(language.get()).file.split(".").pop();
    const taken = new Set(this.editor.files.map((file) => file.name));
    let name = `helper.${suffix}`;
    for (let n = 2; taken.has(name); n++) name = `helper${n}.${suffix}`;
    const answer = await asked("New file", "File name", name, wrongName(this.editor, -1));
    if (!answer) return;
    this.editor.open(answer, "", syntaxOf(answer, language.get()));
    this.editor.widget.focus();
  }

  async rename(index: number): Promise<void> {
    const file = this.editor.files[index];
    const name = file && (await asked("Rename", "New name", file.name, wrongName(this.editor, index)));
    if (file && name) this.editor.rename(this.editor.files.indexOf(file), name, syntaxOf(name, language.get()));
  }
}
