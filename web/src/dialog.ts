// Dialogs, messages that go by themselves, and what a screen reader is told.
import { h, iconButton } from "./dom";

const live = h("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
const toasts = h("div", { class: "toasts" });

export function mountMessages(place: HTMLElement): void {
  place.append(live, toasts);
}

export function say(text: string): void {
  live.textContent = text;
}

/** A sentence for a few seconds. */
export function toast(text: string, kind: "info" | "bad" = "info"): void {
  const item = h("div", { class: `toast ${kind}` }, text);
  toasts.append(item);
  say(text);
  window.setTimeout(() => item.remove(), kind === "bad" ? 8000 : 4000);
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

/** A question for a name; null: never mind. */
export function asked(title: string, label: string, value: string): Promise<string | null> {
  return new Promise((done) => {
    let answer: string | null = null;
    const field = h("input", { type: "text", value, spellcheck: "false", autocomplete: "off" });
    const form = h("form", { class: "form", onsubmit: (event) => {
      event.preventDefault();
      answer = field.value.trim() || null;
      open.close();
    } }, h("label", {}, label, field), h("div", { class: "row end" }, h("button", { type: "submit", class: "button primary" }, "OK")));
    const open = dialog(title, form, { closed: () => done(answer) });
    field.select();
  });
}
