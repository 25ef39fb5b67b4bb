// Elements, made without a line of HTML text: nothing that a program prints can become markup by accident.

type Child = Node | string | number | false | null | undefined;
type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };
export type Attributes = Handlers & {
  class?: string;
  text?: string;
  dataset?: Record<string, string>;
  [name: string]: unknown;
};

/** An element with attributes, handlers (`onclick`) and children; false and null children are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "text") element.textContent = String(value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value" && "value" in element) (element as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** Our icons: strokes in a square of 16. */
const ICONS = {
  play: "M4.500 2.800v10.400L13 8z",
  stop: "M4 4h8v8H4z",
  files: "M4 2h5l3.500 3.500V14H4zM9 2v3.500h3.500",
  options: "M2 5h7M12.500 5H14M2 11h2M7.500 11H14M10.700 3.200a1.800 1.800 0 1 0 0 3.600 1.800 1.800 0 0 0 0-3.600zM5.700 9.200a1.800 1.800 0 1 0 0 3.600 1.800 1.800 0 0 0 0-3.600z",
  sessions: "M2 3h12v10H2zM4.500 6l2 2-2 2M8.500 10.500h3",
  history: "M2.500 8A5.500 5.500 0 1 0 4.300 3.900M2.300 2.500v2.600h2.600M8 5v3.300l2.200 1.300",
  containers: "M8 1.800 14 5v6l-6 3.200L2 11V5zM2 5l6 3.200L14 5M8 8.200v6",
  share: "M6.500 9.500l3-3M7 4.500l1.800-1.800a2.800 2.800 0 0 1 4 4L11 8.500M9 11.500l-1.800 1.800a2.800 2.800 0 0 1-4-4L5 7.500",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  up: "M8 13V4M4 7.500 8 3.500l4 4",
  down: "M8 3v9M4 8.500l4 4 4-4",
  edit: "M3 13l.6-2.800L10.800 3l2.200 2.200-7.200 7.200z",
  trash: "M3 4.500h10M6.500 4.500V3h3v1.500M4.500 4.500l.6 8.500h5.800l.6-8.500",
  interrupt: "M5.500 3.500v9M10.500 3.500v9",
  restart: "M13.500 8a5.500 5.500 0 1 1-1.800-4.100M13.700 2.500v2.600h-2.600",
  terminal: "M3 4.500l3.500 3.500L3 11.500M8 12h5",
  folder: "M2 4h4l1.500 1.500H14V13H2z",
  folderOpen: "M2 12V4h4l1.500 1.500H13v2M2 12.500l2-5h11l-2 5z",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.200 6.300a1.900 1.900 0 1 1 2.700 1.900c-.6.3-.9.6-.9 1.300M8 11.600h.01",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.400 3.400l.7.7M11.900 11.900l.7.7M3.400 12.600l.7-.7M11.900 4.100l.7-.7",
  moon: "M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z",
  bulb: "M5.800 11.500c0-1.300-1.800-2.200-1.800-4.500a4 4 0 0 1 8 0c0 2.300-1.800 3.200-1.800 4.500zM6.300 14h3.400",
  cells: "M2.500 2.500h11v4.500h-11zM2.500 9.500h11V14h-11z",
  shield: "M8 1.800l5 1.900v3.800c0 3.200-2.100 5.400-5 6.700-2.900-1.300-5-3.500-5-6.700V3.700zM5.700 7.900l1.700 1.700 3-3.300",
  clear: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.800 3.800l8.400 8.400",
  output: "M2 3h12v10H2zM2 6h12",
  format: "M2.500 4h11M2.500 7h7M2.500 10h9M2.500 13h5",
  bolt: "M9 1.500 3.500 9H8l-1 5.500L12.500 7H8z",
} as const;

export type IconName = keyof typeof ICONS;

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon", `icon-${name}`);
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button that is an icon; its name is what a screen reader and the tooltip say. */
export function iconButton(name: IconName, label: string, onclick: (event: MouseEvent) => void, more: Attributes = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "icon-button", title: label, "aria-label": label, onclick, ...more }, icon(name));
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function seconds(count: number): string {
  if (count < 0.001) return `${(count * 1e6).toFixed(0)} µs`;
  if (count < 0.1) return `${(count * 1e3).toFixed(1)} ms`;
  if (count < 1) return `${(count * 1e3).toFixed(0)} ms`;
  return count < 60 ? `${count.toFixed(2)} s` : `${Math.floor(count / 60)} min ${Math.round(count % 60)} s`;
}

export function ago(time: string): string {
  const passed = (Date.now() - Date.parse(time)) / 1000;
  if (!Number.isFinite(passed)) return time;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  return new Date(time).toLocaleDateString(undefined, { month: "short", day: "numeric", year: "numeric" });
}

/** The time of day, with the date where that is another. */
export function clock(time: string): string {
  const when = new Date(time);
  if (Number.isNaN(when.getTime())) return time;
  const day = when.toDateString() === new Date().toDateString() ? "" : `${when.toLocaleDateString()} `;
  return day + when.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

export const counted = (count: number, one: string, more = `${one}s`): string => `${count} ${count === 1 ? one : more}`;

/** Several names as a sentence has them. */
export const listed = (names: string[]): string => (names.length < 3 ? names.join(" and ") : `${names.slice(0, -1).join(", ")}, and ${names.at(-1)}`);

/** Calls it when there was no call for so long. */
export function later(wait: number, call: () => void): () => void {
  let timer = 0;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(call, wait);
  };
}
