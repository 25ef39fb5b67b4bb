// Files: those in the editor, uploaded ones for the next run, those of the session, and those that a run left.
import { api, ApiError, watchFiles, type FileEntry } from "./api";
import { asked, confirmed, toast } from "./dialog";
import { bytes, counted, fill, h, icon, iconButton, later, listed } from "./dom";
import { isChanged, type Editor } from "./editor";
import { syntaxOf } from "./languages";
import { attached, language, lastResult, session } from "./state";

const ATTACH_MOST = 24 << 20; // bytes; a request has 64 MiB at most, and base64 makes more of them

export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  h("a", { href: address, download: name.split("/").pop() ?? name }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function base64Of(file: Blob): Promise<string> {
  const data = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
}

/** A name that is free: data.csv, data-2.csv. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  const dot = name.lastIndexOf(".");
  const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  let free = name;
  for (let n = 2; isTaken(free); n++) free = `${stem}-${n}${end}`;
  return free;
}

function picker(taken: (files: File[]) => void): () => void {
  return () => {
    const field = h("input", { type: "file", multiple: true, "data-picker": "" });
    field.addEventListener("change", () => {
      taken([...(field.files ?? [])]);
      field.remove();
    });
    field.hidden = true;
    document.body.append(field);
    field.click();
  };
}

interface Item {
  name: string;
  path?: string;
  note?: string;
  folder?: "open" | "closed" | undefined;
  open?: () => void;
  actions?: HTMLElement[];
  depth?: number;
}

const row = (item: Item): HTMLElement =>
  h("li", { class: "file", style: `--depth: ${item.depth ?? 0}` },
    h("button", { type: "button", class: "name", disabled: !item.open, onclick: () => item.open?.(), "data-path": item.path, "aria-expanded": item.folder && String(item.folder === "open") }, icon(item.folder ? (item.folder === "open" ? "folderOpen" : "folder") : "files"), h("span", {}, item.name)),
    item.note ? h("span", { class: "hint" }, item.note) : null,
    h("span", { class: "actions" }, ...(item.actions ?? [])),
  );

const joined = (directory: string, name: string): string => (directory ? `${directory}/${name}` : name);

export class Files {
  readonly element = h("div", { class: "panel-body" });
  readonly #mine = h("section", {});
  readonly #sent = h("section", {});
  readonly #box = h("section", {});
  readonly #left = h("section", {});
  readonly #redraw = later(120, () => void this.drawBox());
  #open = new Set<string>(["code"]);
  #watch: AbortController | null = null;

  constructor(
    readonly editor: Editor,
    readonly act: { add(): void; rename(index: number): void; close(index: number): void; shown(): void; runs(): number },
  ) {
    this.element.append(this.#mine, this.#sent, this.#box, this.#left);
    attached.watch(() => this.#drawSent());
    lastResult.watch(() => this.#drawLeft());
    session.watch((now, before) => {
      if (now?.id === before?.id && now?.status === before?.status) return;
      if (now?.id !== before?.id) this.#open = new Set(["code"]);
      this.#drawSent();
      if (this.element.isConnected) this.shown();
      else this.hidden();
    });
  }

  /** While the panel is visible, it follows the session's files. */
  shown(): void {
    this.draw();
    void this.drawBox();
    this.hidden();
    const place = session.get();
    if (!place || place.status === "ended") return;
    const watch = new AbortController();
    this.#watch = watch;
    // A service that has no such path, or that has ended: then there is the button.
    watchFiles(place.id, () => this.#redraw(), watch.signal).catch(() => {});
  }

  hidden(): void {
    this.#watch?.abort();
    this.#watch = null;
  }

  /** Opens the browser's dialog for files. */
  readonly choose = picker((files) => void this.take(files));

  /** Takes dropped or chosen files: into the session if there is one, otherwise along with the next run. An existing file is
   *  replaced only after a question. */
  async take(files: File[]): Promise<void> {
    const place = session.get();
    if (!place || place.status === "ended") return this.#attach(files);
    try {
      const there: string[] = [];
      for (const file of files) if (await api.exists(place.id, `code/${file.name}`)) there.push(file.name);
      const replace = there.length === 0 || (await confirmed(there.length === 1 ? "Replace file?" : "Replace files?",
        `${listed(there.map((name) => `code/${name}`))} already ${there.length === 1 ? "exists" : "exist"} in the session. Uploading replaces ${there.length === 1 ? "it" : "them"}.`, "Replace"));
      const wanted = replace ? files : files.filter((file) => !there.includes(file.name));
      for (const file of wanted) await api.write(place.id, `code/${file.name}`, file);
      if (wanted.length > 0) toast(`Uploaded ${wanted.length === 1 ? wanted[0]!.name : counted(wanted.length, "file")} to /sandbox/code in the session.`);
      await this.drawBox();
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }

  /** Takes files along with the next run. A file cannot have the name of a tab, whose text is what runs. */
  async #attach(files: File[]): Promise<void> {
    const isTab = (name: string): boolean => this.editor.files.some((file) => file.name === name);
    const isSent = (name: string): boolean => attached.get().some((file) => file.name === name);
    for (const file of files) {
      if (file.size > ATTACH_MOST) {
        toast(`${file.name} is too large. The limit is ${bytes(ATTACH_MOST)}.`, "bad");
        continue;
      }
      let name: string | null = file.name;
      if (isTab(name)) {
        const free = freeName(name, (text) => isTab(text) || isSent(text));
        name = await asked("Upload", `${name} is open in a tab. Upload the file as`, free, (text) => (isTab(text) ? `${text} is open in a tab.` : isSent(text) ? `${text} is already uploaded.` : null));
      } else if (isSent(name) && !(await confirmed("Replace file?", `${name} is already uploaded.`, "Replace"))) {
        name = null;
      }
      if (name === null) continue;
      let base64: string;
      try {
        base64 = await base64Of(file);
      } catch {
        toast(`Could not read ${file.name}. Folders cannot be uploaded.`, "bad");
        continue;
      }
      const item = { name, base64, size: file.size };
      attached.set([...attached.get().filter((other) => other.name !== name), item]);
    }
  }

  /** Writes the visible file back to its session; false: it is not a session's file. */
  async saveBack(): Promise<boolean> {
    const file = this.editor.active;
    if (!file?.origin) return false;
    const [version, text, origin] = [file.model.getAlternativeVersionId(), file.model.getValue(), file.origin];
    try {
      const there = await (await api.readIfThere(origin.session, origin.path))?.text();
      // A program may have written to it since it was opened here.
      if (there !== undefined && there !== text && there !== origin.text && !(await confirmed("Replace file?", `/sandbox/${origin.path} has changed in the session since you opened it. Saving replaces it with your text.`, "Replace"))) return true;
      if (there !== text) await api.write(origin.session, origin.path, new Blob([text]));
      origin.saved = version;
      origin.text = text;
      this.editor.onTabs();
      toast(`Saved to /sandbox/${origin.path}.`);
    } catch (error) {
      toast(`Could not save ${origin.path}: ${(error as Error).message}`, "bad");
    }
    return true;
  }

  draw(): void {
    const { editor } = this;
    fill(this.#mine,
      h("h3", {}, "In the editor", iconButton("plus", "New file", () => this.act.add())),
      h("ul", { class: "files" }, ...editor.files.map((file, at) =>
        row({
          name: file.name,
          note: isChanged(file) ? "unsaved" : editor.files.length > 1 && at === this.act.runs() ? "runs" : "",
          open: () => {
            editor.show(at);
            this.act.shown();
          },
          actions: [
            iconButton("edit", `Rename ${file.name}`, () => this.act.rename(at)),
            iconButton("down", `Download ${file.name}`, () => save(file.name, new Blob([file.model.getValue()]))),
            ...(editor.files.length > 1 ? [iconButton("trash", `Close ${file.name}`, () => this.act.close(at))] : []),
          ],
        }))),
    );
  }

  #drawSent(): void {
    const items = attached.get();
    const live = session.get() !== null && session.get()?.status !== "ended";
    // A session has files of its own, and a place to put them.
    this.#sent.hidden = live && items.length === 0;
    fill(this.#sent,
      h("h3", {}, "Uploaded", live ? null : iconButton("up", "Upload files", this.choose)),
      items.length === 0
        ? h("p", { class: "hint" }, "Upload files or drop them on the page. Programs find them in /sandbox/code.")
        : h("ul", { class: "files" }, ...items.map((item) =>
            row({ name: item.name, note: bytes(item.size), actions: [
              iconButton("edit", `Rename ${item.name}`, () => void this.#renameSent(item.name)),
              iconButton("trash", `Remove ${item.name}`, () => attached.set(attached.get().filter((other) => other !== item))),
            ] }))),
    );
  }

  async #renameSent(name: string): Promise<void> {
    const to = await asked("Rename", "New name", name, (text) =>
      text !== name && attached.get().some((item) => item.name === text) ? `${text} is already uploaded.` : this.editor.files.some((file) => file.name === text) ? `${text} is open in a tab.` : null);
    if (to) attached.set(attached.get().map((item) => (item.name === name ? { ...item, name: to } : item)));
  }

  #drawLeft(): void {
    const result = lastResult.get();
    const files = result?.files ?? [];
    fill(this.#left,
      h("h3", {}, "Output files"),
      files.length === 0
        ? h("p", { class: "hint" }, "Files that a program writes to /sandbox/output appear here.")
        : h("ul", { class: "files" }, ...files.map((file) =>
            row({
              name: file.path,
              note: bytes(file.size),
              actions: file.kept && result ? [iconButton("down", `Download ${file.path}`, () => void api.left(result.id, file.path).then((blob) => save(file.path, blob), (error: Error) => toast(error.message, "bad")))] : [],
            }))),
    );
  }

  async drawBox(): Promise<void> {
    const place = session.get();
    if (!place || place.status === "ended") {
      this.#box.replaceChildren();
      return;
    }
    const head = h("h3", {}, "In the session", h("code", { class: "hint" }, "/sandbox"), iconButton("restart", "Refresh", () => void this.drawBox()), iconButton("up", "Upload to the session", this.choose));
    try {
      const rows = await this.#rows(place.id, "", 0);
      // The focus stays where it was.
      const focused = this.#box.contains(document.activeElement) ? document.activeElement?.getAttribute("data-path") : null;
      if (session.get()?.id !== place.id) return;
      fill(this.#box, head, h("ul", { class: "files" }, ...rows));
      if (focused) [...this.#box.querySelectorAll<HTMLElement>("[data-path]")].find((item) => item.dataset["path"] === focused)?.focus();
    } catch (error) {
      const missing = error instanceof ApiError && (error.status === 404 || error.status === 405 || error.status === 501);
      fill(this.#box, head, h("p", { class: "hint" }, missing ? "The files of this session cannot be shown." : (error as Error).message));
    }
  }

  async #rows(id: string, directory: string, depth: number): Promise<HTMLElement[]> {
    const found = (await api.list(id, directory)).entries;
    const rows: HTMLElement[] = [];
    for (const file of found.slice(0, 500)) {
      const path = joined(directory, file.name);
      const folder = file.type === "directory";
      rows.push(row({
        name: file.name,
        path,
        folder: folder ? (this.#open.has(path) ? "open" : "closed") : undefined,
        depth,
        note: folder ? "" : bytes(file.size),
        open: () => void this.#enter(id, path, file, folder),
        actions: [
          iconButton("edit", `Rename ${path}`, () => void this.#rename(id, path)),
          ...(folder ? [] : [iconButton("down", `Download ${path}`, () => void api.read(id, path).then((blob) => save(file.name, blob), (error: Error) => toast(error.message, "bad")))]),
          iconButton("trash", `Delete ${path}`, () => void this.#remove(id, path, folder)),
        ],
      }));
      if (!folder || !this.#open.has(path)) continue;
      const inside = await this.#rows(id, path, depth + 1);
      rows.push(...inside, ...(inside.length === 0 ? [h("li", { class: "file nothing hint", style: `--depth: ${depth + 1}` }, "empty")] : []));
    }
    if (found.length > 500) rows.push(h("li", { class: "hint", style: `--depth: ${depth}` }, `${found.length - 500} more`));
    return rows;
  }

  async #enter(id: string, path: string, file: FileEntry, folder: boolean): Promise<void> {
    if (folder) {
      if (!this.#open.delete(path)) this.#open.add(path);
      return this.drawBox();
    }
    const there = this.editor.files.findIndex((item) => item.origin?.session === id && item.origin.path === path);
    if (there >= 0) {
      this.editor.show(there);
      return this.act.shown();
    }
    if (file.size > 1 << 20) return toast(`${path} is too large to open here. Download it instead.`, "bad");
    try {
      const data = new Uint8Array(await (await api.read(id, path)).arrayBuffer());
      if (data.includes(0)) return toast(`${path} is not a text file. Download it instead.`, "bad");
      const text = new TextDecoder().decode(data);
      // Two tabs of one name could not be told apart, and only one would go along with a run.
      const name = this.editor.files.some((tab) => tab.name === file.name) ? path : file.name;
      const opened = this.editor.open(name, text, syntaxOf(file.name, language.get()));
      opened.origin = { session: id, path, saved: opened.model.getAlternativeVersionId(), text };
      this.editor.onTabs();
      this.act.shown();
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }

  async #change(what: Promise<void>): Promise<void> {
    await what.catch((error: Error) => toast(error.message, "bad"));
    await this.drawBox();
  }

  async #rename(id: string, path: string): Promise<void> {
    const to = await asked("Rename", "New path in /sandbox", path);
    if (!to || to === path) return;
    try {
      if ((await api.exists(id, to)) && !(await confirmed("Replace file?", `${to} already exists in the session. Renaming ${path} replaces it.`, "Replace"))) return;
    } catch (error) {
      return toast((error as Error).message, "bad");
    }
    await this.#change(api.move(id, path, to));
  }

  async #remove(id: string, path: string, folder: boolean): Promise<void> {
    if (await confirmed(folder ? "Delete folder?" : "Delete file?", `${path} will be deleted from the session.`, "Delete")) await this.#change(api.remove(id, path));
  }
}
