import { kept, Value } from "./state";

export type Theme = "system" | "light" | "dark";
export const theme = kept<Theme>("theme", "system");
export const dark = new Value(true);

const system = matchMedia("(prefers-color-scheme: dark)");

function apply(): void {
  const now = theme.get() === "dark" || (theme.get() === "system" && system.matches);
  // First the page, from whose colours the editor's are made.
  document.documentElement.dataset["theme"] = now ? "dark" : "light";
  dark.set(now);
}

export function startTheme(): void {
  theme.watch(apply);
  system.addEventListener("change", apply);
}
