// Dialogs, messages that disappear by themselves, and announcements for screen readers.
import { h, iconButton } from "./dom";

const live = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
const toasts = h("div", { class: "toasts" });

export function mountMessages(page: HTMLElement, place: HTMLElement): void {
  page.append(live);
  place.append(toasts);
}

export function say(text: string): void {
  live.textContent = text;
}

/** A sentence for a few seconds, with something that can be done about it. The same sentence is not there twice. */
export function toast(text: string, kind: "info" | "bad" = "info", action?: { label: string; act(): void }): void {
  [...toasts.children].find((other) => other.firstChild?.textContent === text)?.remove();
  const item = h("div", { class: `toast ${kind}` }, h("span", {}, text),
    action ? h("button", { type: "button", class: "link", onclick: () => { item.remove(); action.act(); } }, action.label) : null,
    iconButton("close", "Dismiss", () => item.remove(), { class: "icon-button tiny" }));
  toasts.append(item);
  say(text);
  // A message under the pointer or with the focus stays.
  const go = (): void => (item.matches(":hover, :focus-within") ? void window.setTimeout(go, 1000) : item.remove());
  window.setTimeout(go, action || kind === "bad" ? 8000 : 4000);
}

/** A dialog until it is closed; Escape closes it. */
export function dialog(title: string, content: HTMLElement, more: { wide?: boolean; closed?: () => void; fixed?: boolean } = {}): { close(): void } {
  const close = (): void => box.close();
  const box = h("dialog", { class: more.wide ? "wide" : "", "aria-label": title },
    h("header", {}, h("h2", {}, title), more.fixed ? null : iconButton("close", "Close", close)),
    content,
  );
  if (more.fixed) box.addEventListener("cancel", (event) => event.preventDefault());
  else box.addEventListener("click", (event) => event.target === box && close());
  box.addEventListener("close", () => {
    box.remove();
    more.closed?.();
  });
  document.body.append(box);
  box.showModal();
  return { close };
}

/** A question with two answers. */
export function confirmed(title: string, text: string, action: string): Promise<boolean> {
  return new Promise((done) => {
    let answer = false;
    const open = dialog(title, h("div", { class: "form" }, h("p", {}, text), h("div", { class: "row end" },
      h("button", { type: "button", class: "button", onclick: () => open.close() }, "Cancel"),
      h("button", { type: "button", class: "button primary", onclick: () => { answer = true; open.close(); } }, action))),
      { closed: () => done(answer) });
  });
}

/** Asks for a name; null: the dialog was cancelled. `wrong` returns what is wrong with an answer. */
export function asked(title: string, label: string, value: string, wrong: (answer: string) => string | null = () => null): Promise<string | null> {
  return new Promise((done) => {
    let answer: string | null = null;
    const field = h("input", { type: "text", value, spellcheck: "false", autocomplete: "off", "aria-describedby": "asked-why" });
    const why = h("p", { class: "hint bad", id: "asked-why", role: "alert" });
    const form = h("form", { class: "form", onsubmit: (event) => {
      event.preventDefault();
      const text = field.value.trim();
      const fault = text === "" ? "Enter a name." : wrong(text);
      why.textContent = fault ?? "";
      field.setAttribute("aria-invalid", String(fault !== null));
      if (fault !== null) return field.focus();
      answer = text;
      open.close();
    } }, h("label", {}, label, field), why, h("div", { class: "row end" }, h("button", { type: "button", class: "button", onclick: () => open.close() }, "Cancel"), h("button", { type: "submit", class: "button primary" }, title)));
    const open = dialog(title, form, { closed: () => done(answer) });
    const dot = value.lastIndexOf(".");
    field.focus();
    field.setSelectionRange(value.lastIndexOf("/") + 1, dot > 0 ? dot : value.length);
  });
}
