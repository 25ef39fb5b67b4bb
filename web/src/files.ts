// Files: those in the editor, those that go along with the next run, those of the session, those a run left.
import { api, ApiError } from "./api";
import { asked, confirmed, toast } from "./dialog";
import { bytes, fill, h, icon, iconButton } from "./dom";
import { attached, lastResult, session } from "./state";
import type { Editor } from "./editor";
import type { SessionFile } from "./session_types";

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

export async function attach(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    if (file.size > ATTACH_MOST) {
      toast(`${file.name} is larger than ${bytes(ATTACH_MOST)}`, "bad");
      continue;
    }
    const item = { name: file.name, base64: await base64Of(file), size: file.size };
    attached.set([...attached.get().filter((other) => other.name !== file.name), item]);
  }
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
  note?: string;
  folder?: boolean;
  open?: () => void;
  actions?: HTMLElement[];
  depth?: number;
}

const row = (item: Item): HTMLElement =>
  h("li", { class: "file", style: `--depth: ${item.depth ?? 0}` },
    h("button", { type: "button", class: "name", disabled: !item.open, onclick: () => item.open?.() }, icon(item.folder ? "folder" : "files"), h("span", {}, item.name)),
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
  #open = new Set<string>(["code"]);

  constructor(
    readonly editor: Editor,
    readonly act: { add(): void; rename(index: number): void; open(name: string, text: string): void },
  ) {
    this.element.append(this.#mine, this.#sent, this.#box, this.#left);
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      void this.#take([...(event.dataTransfer?.files ?? [])]);
    });
    attached.watch(() => this.#drawSent());
    lastResult.watch(() => this.#drawLeft());
    session.watch((now, before) => {
      if (now?.id !== before?.id) this.#open = new Set(["code"]);
      void this.drawBox();
    });
  }

  async #take(files: File[]): Promise<void> {
    const place = session.get();
    if (!place || place.status === "ended") return attach(files);
    try {
      for (const file of files) await api.write(place.id, `code/${file.name}`, file);
      await this.drawBox();
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }

  draw(): void {
    const { editor } = this;
    fill(this.#mine,
      h("h3", {}, "In the editor", iconButton("plus", "New file", () => this.act.add())),
      h("ul", { class: "files" }, ...editor.files.map((file, at) =>
        row({
          name: file.name,
          note: at === 0 ? "runs" : "",
          open: () => editor.show(at),
          actions: [
            iconButton("edit", `Rename ${file.name}`, () => this.act.rename(at)),
            iconButton("down", `Download ${file.name}`, () => save(file.name, new Blob([file.model.getValue()]))),
            ...(editor.files.length > 1 ? [iconButton("trash", `Delete ${file.name}`, () => editor.close(at))] : []),
          ],
        }))),
    );
  }

  #drawSent(): void {
    const items = attached.get();
    fill(this.#sent,
      h("h3", {}, "Sent along", iconButton("up", "Upload files", picker((files) => void attach(files)))),
      items.length === 0
        ? h("p", { class: "hint" }, "Files you upload are put beside the program, in /sandbox/code. Drop them here.")
        : h("ul", { class: "files" }, ...items.map((item) =>
            row({ name: item.name, note: bytes(item.size), actions: [iconButton("trash", `Remove ${item.name}`, () => attached.set(attached.get().filter((other) => other !== item)))] }))),
    );
  }

  #drawLeft(): void {
    const result = lastResult.get();
    const files = result?.files ?? [];
    fill(this.#left,
      h("h3", {}, "Left by the last run"),
      files.length === 0
        ? h("p", { class: "hint" }, "What a program writes to /sandbox/output is listed here.")
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
    const head = h("h3", {}, "In the session", iconButton("restart", "Look again", () => void this.drawBox()), iconButton("up", "Upload into the session", picker((files) => void this.#take(files))));
    try {
      fill(this.#box, head, h("ul", { class: "files" }, ...(await this.#rows(place.id, "", 0))));
    } catch (error) {
      const missing = error instanceof ApiError && (error.status === 404 || error.status === 405 || error.status === 501);
      fill(this.#box, head, h("p", { class: "hint" }, missing ? "This service cannot look into a session's files yet." : (error as Error).message));
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
        folder,
        depth,
        note: folder ? "" : bytes(file.size),
        open: () => void this.#enter(id, path, file, folder),
        actions: [
          iconButton("edit", `Rename ${path}`, () => void this.#rename(id, path)),
          ...(folder ? [] : [iconButton("down", `Download ${path}`, () => void api.read(id, path).then((blob) => save(file.name, blob), (error: Error) => toast(error.message, "bad")))]),
          iconButton("trash", `Delete ${path}`, () => void this.#remove(id, path)),
        ],
      }));
      if (folder && this.#open.has(path)) rows.push(...(await this.#rows(id, path, depth + 1)));
    }
    return rows;
  }

  async #enter(id: string, path: string, file: SessionFile, folder: boolean): Promise<void> {
    if (folder) {
      if (!this.#open.delete(path)) this.#open.add(path);
      return this.drawBox();
    }
    if (file.size > 1 << 20) return toast(`${path} is too large to be opened here; download it`, "bad");
    try {
      this.act.open(file.name, await (await api.read(id, path)).text());
    } catch (error) {
      toast((error as Error).message, "bad");
    }
  }

  async #change(what: Promise<void>): Promise<void> {
    await what.catch((error: Error) => toast(error.message, "bad"));
    await this.drawBox();
  }

  async #rename(id: string, path: string): Promise<void> {
    const to = await asked("Rename", "New path", path);
    if (to && to !== path) await this.#change(api.move(id, path, to));
  }

  async #remove(id: string, path: string): Promise<void> {
    if (await confirmed("Delete", `Delete ${path} of the session?`, "Delete")) await this.#change(api.remove(id, path));
  }
}
