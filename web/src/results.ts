// Results besides text (pictures, tables, trees, pages), and cards for errors, which link to their place.
import { ACTIONS, plain, type Action } from "./advice";
import { bytes, counted, fill, h, icon, iconButton } from "./dom";
import type { CodeError, Fix, Result } from "./api";

type Data = Record<string, unknown>;

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

const IMAGES: Record<string, string> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml" };

/** The type of an image by the name of its file; null: it is none. */
export const imageType = (path: string): string | null => IMAGES[path.split(".").pop()?.toLowerCase() ?? ""] ?? null;

/** An image that a run left as a file. */
export function leftPicture(path: string, content: Blob): HTMLElement {
  const address = URL.createObjectURL(content);
  return h("section", { class: "card result", "aria-label": path }, h("header", {}, h("h3", {}, path), h("span", { class: "hint" }, bytes(content.size)), h("span", { class: "grow" }),
    h("a", { class: "icon-button", href: address, download: path.split("/").pop() ?? path, title: `Save ${path}`, "aria-label": `Save ${path}` }, icon("down"))),
    h("div", { class: "picture-frame" }, h("img", { class: "picture", src: address, alt: `Image written by the program: ${path}` })));
}

/** An image by an address of its data: nothing in it is run, whatever an SVG says. */
function picture(type: string, data: string, base64: boolean): HTMLElement {
  const binary = base64 ? Uint8Array.from(atob(data.replace(/\s/g, "")), (c) => c.charCodeAt(0)) : new TextEncoder().encode(data);
  const address = URL.createObjectURL(new Blob([binary], { type }));
  const image = h("img", { class: "picture", src: address, alt: "Image made by the program" });
  const save = h("a", { class: "button small", href: address, download: `picture.${type === "image/svg+xml" ? "svg" : type.split("/")[1]}` }, icon("down"), `Save (${bytes(binary.length)})`);
  return h("div", { class: "picture-frame" }, image, save);
}

/** Stands before the program's HTML: nothing is loaded from anywhere, not from the service ('self') either. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:";
/** Elements that can connect in spite of a policy (preconnect), and those that the policy would refuse anyway. */
const DROPPED = "link, meta, base, script, iframe, frame, frameset, object, embed, portal, fencedframe, template[shadowrootmode]";

/** HTML that causes no request. It is parsed into a document without a window, which loads and runs nothing. */
function sealed(text: string): string {
  const read = new DOMParser().parseFromString(text, "text/html");
  read.querySelectorAll(DROPPED).forEach((element) => element.remove());
  // Pressing a link opens a connection before the policy refuses to follow it, and the frame cannot show another page anyway.
  // The title shows the address.
  for (const link of read.querySelectorAll("a, area")) {
    const address = link.getAttribute("href") ?? link.getAttribute("xlink:href") ?? "";
    ["ping", "attributionsrc", ...(address.startsWith("#") ? [] : ["href", "xlink:href"])].forEach((name) => link.removeAttribute(name));
    if (!address.startsWith("#") && /^https?:/i.test(address) && !link.hasAttribute("title")) link.setAttribute("title", address);
  }
  return `${[...read.head.querySelectorAll("style")].map((style) => style.outerHTML).join("")}${read.body.outerHTML}`;
}

/** A page in a frame without rights: no script, no form, no origin, no way up, and no request to anybody. */
function page(given: string | Promise<string>): HTMLElement {
  const dark = document.documentElement.dataset["theme"] === "dark";
  const style = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}"><meta http-equiv="x-dns-prefetch-control" content="off"><style>body{margin:8px;font:13px/1.45 system-ui,sans-serif;color:${dark ? "#e8e2dc" : "#2b2622"};background:${dark ? "#17151a" : "#fffdfb"}}table{border-collapse:collapse}code,pre{font:12.5px/1.5 ui-monospace,monospace}pre{overflow:auto}h1,h2,h3{margin:.4em 0}th,td{padding:3px 9px;border:1px solid #8885;text-align:right}a{color:inherit}a[title]{text-decoration:underline dotted}</style>`;
  const frame = h("iframe", { class: "page", title: "HTML made by the program", sandbox: "", referrerpolicy: "no-referrer" });
  const fill = (text: string): void => {
    const rows = (text.match(/<(?:tr|p|li|br|h\d|div|pre)\b/gi) ?? []).length;
    frame.style.height = `${Math.min(480, 60 + rows * 26)}px`;
    frame.srcdoc = style + sealed(text);
  };
  if (typeof given === "string") fill(given);
  else given.then(fill, () => fill("<p>This result cannot be shown.</p>"));
  return frame;
}

interface Rows {
  columns: string[];
  rows: unknown[][];
}

/** Rows, if that is what it is: {columns, rows} with rows of values or of objects, or a list of objects. */
function rowsOf(value: unknown): Rows | null {
  if (value && typeof value === "object" && !Array.isArray(value)) {
    const { columns, rows } = value as { columns?: unknown[]; rows?: unknown[] };
    if (!Array.isArray(columns) || !Array.isArray(rows)) return null;
    const names = columns.map((column) => (typeof column === "object" && column ? String((column as { name?: unknown }).name ?? "") : String(column)));
    if (rows.every(Array.isArray)) return { columns: names, rows: rows as unknown[][] };
    if (rows.every((row) => row && typeof row === "object")) return { columns: names, rows: rows.map((row) => names.map((name) => (row as Data)[name])) };
    return null;
  }
  if (Array.isArray(value) && value.length > 0 && value.every((item) => item && typeof item === "object" && !Array.isArray(item))) {
    const columns = [...new Set(value.flatMap((item) => Object.keys(item as object)))];
    return { columns, rows: value.map((item) => columns.map((column) => (item as Data)[column])) };
  }
  return null;
}

const isNumber = (value: unknown): boolean => typeof value === "number" || (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)));

function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (isNumber(a) && isNumber(b)) return Number(a) - Number(b);
  return asText(a).localeCompare(asText(b));
}

const SHOWN = 500;

function table({ columns, rows }: Rows): HTMLElement {
  let sorted = rows;
  let by = -1;
  let down = false;
  const body = h("tbody");
  const numeric = columns.map((_, at) => rows.length > 0 && rows.every((row) => row[at] === null || row[at] === undefined || isNumber(row[at])));
  const heads = columns.map((column, at) => {
    const button = h("button", { type: "button", onclick: () => sort(at) }, column || "?");
    return h("th", { scope: "col", "aria-sort": "none", class: numeric[at] ? "number" : "" }, button);
  });
  const draw = (): void => {
    body.replaceChildren(
      ...sorted.slice(0, SHOWN).map((row) =>
        h("tr", {}, ...columns.map((_, at) => {
          const value = row[at];
          const empty = value === null || value === undefined;
          return h("td", { class: `${numeric[at] ? "number" : ""}${empty ? " empty" : ""}` }, empty ? "null" : asText(value));
        })),
      ),
    );
  };
  const sort = (at: number): void => {
    down = by === at ? !down : false;
    by = at;
    sorted = [...rows].sort((a, b) => (down ? -1 : 1) * compare(a[at], b[at]));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== at ? "none" : down ? "descending" : "ascending"));
    draw();
  };
  draw();
  const more = rows.length > SHOWN ? `, first ${SHOWN} shown` : "";
  return h("div", {},
    h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", { class: "rows" }, h("thead", {}, h("tr", {}, ...heads)), body)),
    h("p", { class: "hint" }, `${counted(rows.length, "row")}${more}`),
  );
}

function tree(value: unknown, name = "", depth = 0): HTMLElement {
  const label = name === "" ? null : h("span", { class: "key" }, `${name}: `);
  if (value && typeof value === "object") {
    const entries = Array.isArray(value) ? value.map((item, at) => [String(at), item] as const) : Object.entries(value);
    const details = h("details", { class: "tree" }, h("summary", {}, label, h("span", { class: "kind" }, Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`)));
    if (depth < 2) details.open = true;
    let drawn = false;
    const draw = (): void => {
      if (drawn || !details.open) return;
      drawn = true;
      details.append(...entries.slice(0, SHOWN).map(([key, item]) => tree(item, key, depth + 1)));
      if (entries.length > SHOWN) details.append(h("p", { class: "hint" }, `${entries.length - SHOWN} more`));
    };
    details.addEventListener("toggle", draw);
    draw();
    return details;
  }
  const kind = value === null ? "null" : typeof value;
  return h("div", { class: "leaf" }, label, h("span", { class: `value ${kind}` }, JSON.stringify(value)));
}

const views: [string, string, (data: unknown) => HTMLElement | null][] = [
  ["image/svg+xml", "SVG", (data) => picture("image/svg+xml", asText(data), false)],
  ["image/png", "PNG", (data) => picture("image/png", asText(data), true)],
  ["image/jpeg", "JPEG", (data) => picture("image/jpeg", asText(data), true)],
  ["image/gif", "GIF", (data) => picture("image/gif", asText(data), true)],
  ["application/json", "Table", (data) => {
    const rows = rowsOf(data);
    return rows && table(rows);
  }],
  ["text/html", "HTML", (data) => page(asText(data))],
  ["application/json", "JSON", (data) => tree(data)],
  // HTML inside Markdown is sealed like any other.
  ["text/markdown", "Markdown", (data) => page(import("marked").then(({ marked }) => marked.parse(asText(data))))],
  ["text/latex", "LaTeX", (data) => h("pre", { class: "plain" }, asText(data))],
  ["text/plain", "Text", (data) => h("pre", { class: "plain" }, asText(data))],
];

/** One rich result, in each of the ways that it can be seen. */
export function richResult(data: Data, number: number): HTMLElement {
  const found: { name: string; element: HTMLElement }[] = [];
  for (const [type, name, view] of views) {
    if (!(type in data)) continue;
    try {
      const element = view(data[type]);
      if (element) found.push({ name, element });
    } catch {
      found.push({ name, element: h("p", { class: "hint" }, `This ${name} result cannot be shown.`) });
    }
  }
  if (found.length === 0) found.push({ name: "JSON", element: tree(data) });
  const place = h("div", { class: "result-body" });
  const tabs = found.map(({ name }, at) => h("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => choose(at) }, name));
  const choose = (at: number): void => {
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === at)));
    place.replaceChildren(found[at]!.element);
  };
  choose(0);
  return h("section", { class: "card result", "aria-label": `Result ${number}` }, h("header", {}, h("h3", {}, `Result ${number}`), h("span", { class: "chips" }, ...(tabs.length > 1 ? tabs : []))), place);
}

/** Where a part of a file begins: its first line, and that line's column, or all lines' if they lost their indentation. */
export interface Origin {
  line: number;
  column: number;
  all: boolean;
}

/** An error of a part of a file, as one of the file: its lines are counted from where the part begins. */
export function moved(error: CodeError, from: Origin, isOwn: (path: string | null) => boolean): CodeError {
  if (from.line === 1 && from.column === 1) return error;
  const shifted = (row: number, at: number): number => (from.all || row === 1 ? at + from.column - 1 : at);
  const line = <T extends number | null>(file: string | null, at: T): T => (at !== null && isOwn(file) ? ((at + from.line - 1) as T) : at);
  return {
    ...error,
    line: line(error.file, error.line),
    column: error.column === null || error.line === null || !isOwn(error.file) ? error.column : shifted(error.line, error.column),
    frames: error.frames.map((frame) => ({ ...frame, line: line(frame.file, frame.line) })),
    context: error.context.map((item) => ({ ...item, line: line(error.file, item.line) })),
    fix: error.fix && isOwn(error.fix.file) ? { ...error.fix, line: line(error.fix.file, error.fix.line), column: shifted(error.fix.line, error.fix.column), end_column: shifted(error.fix.line, error.fix.end_column) } : error.fix,
  };
}

/** A sentence with what stands in backquotes as code. */
function sentenceOf(text: string): HTMLElement {
  const place = h("p", {});
  fill(place, ...text.split("`").map((piece, at) => (at % 2 === 1 ? h("code", {}, piece) : piece)));
  return place;
}

interface Help {
  name: Action;
  act(): void;
}

const helpButton = (help: Help | null | undefined): HTMLElement | null => help ? h("button", { type: "button", class: "button small", onclick: () => help.act() }, ACTIONS[help.name]) : null;

/** A limit that ended the run, and what to do about it. */
export function limitCard(verdict: NonNullable<Result["verdict"]>, help: Help | null, close: () => void): HTMLElement {
  return h("section", { class: "card error", role: "group", "aria-label": "Limit" },
    h("header", {}, h("h3", {}, verdict.cause === "memory" ? "Out of memory" : "Time limit reached"), iconButton("close", "Close", close)),
    h("p", {}, plain(verdict.message)),
    verdict.suggestion ? h("div", { class: "suggestion" }, icon("bulb"), sentenceOf(plain(verdict.suggestion)), helpButton(help)) : null);
}

/** A card that says what failed and where, and what would help. */
export function errorCard(
  error: CodeError,
  sentence: string | null,
  act: { go(file: string | null, line: number, column: number | null): void; apply(fix: Fix): void; close(): void; action?: Help },
): HTMLElement {
  const name = error.file?.split("/").pop() ?? null;
  const place = (file: string | null, line: number, column: number | null): HTMLElement =>
    h("button", { type: "button", class: "link", onclick: () => act.go(file, line, column) }, `${file ?? "line"}${file ? `, line ${line}` : ` ${line}`}`);
  const frames = error.frames.filter((frame) => frame.line !== null && frame.user);
  const card = h("section", { class: "card error", role: "group", "aria-label": "Error" },
    h("header", {}, h("h3", {}, error.type), error.line ? place(name, error.line, error.column) : null, iconButton("close", "Close error", act.close)),
    h("p", { class: "message" }, error.message || plain(sentence ?? "")),
  );
  // Empty lines around the place tell nothing.
  const some = error.context.findLastIndex((item) => item.mark || item.text.trim() !== "");
  const lines = error.context.slice(0, some + 1).map(({ line, text, mark }) => h("div", { class: mark ? "here" : "" }, h("span", { class: "number" }, line), text));
  if (lines.length > 0) card.append(h("pre", { class: "context", tabindex: "0", "aria-label": "Lines around the error" }, ...lines));
  if (frames.length > 1)
    card.append(h("ol", { class: "frames" }, ...frames.map((frame) => h("li", {}, place(frame.file?.split("/").pop() ?? null, frame.line!, null), frame.function ? h("span", { class: "hint" }, ` in ${frame.function}`) : null))));
  const { fix } = error;
  if (error.suggestion || fix)
    card.append(h("div", { class: "suggestion" }, icon("bulb"), sentenceOf(plain(error.suggestion ?? "A fix is available.")), fix ? null : helpButton(act.action), fix ? h("button", { type: "button", class: "button primary small", onclick: () => act.apply(fix) }, "Apply") : null));
  if (error.docs && /^https?:\/\//.test(error.docs))
    card.append(h("a", { class: "hint", href: error.docs, target: "_blank", rel: "noopener noreferrer" }, "Documentation"));
  return card;
}
