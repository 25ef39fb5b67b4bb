import { kept, Value } from "./state";

export type Theme = "system" | "light" | "dark";
export const theme = kept<Theme>("theme", "system");
export const dark = new Value(true);

const system = matchMedia("(prefers-color-scheme: dark)");

function apply(): void {
  dark.set(theme.get() === "dark" || (theme.get() === "system" && system.matches));
  document.documentElement.dataset["theme"] = dark.get() ? "dark" : "light";
}

export function startTheme(): void {
  theme.watch(apply);
  system.addEventListener("change", apply);
}
