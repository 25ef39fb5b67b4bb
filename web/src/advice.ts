// Sentences of the service, as a page says them. The service speaks to command lines and programs at once, and writes for
// both what to give: "--memory 1g (limits.memory)". Here are buttons for it, and no command line.

const NOTATION: [RegExp, string][] = [
  [/\ballow more with --[\w-]+(?: [\w.]+)? \([\w.]+\)/g, "raise the limit"],
  [/\b(?:give|name) ([^;:.,]{1,60}?) with --(?:file|project) \([\w, ]+\)/g, "upload $1"],
  [/,? or the directory with --project\b/g, ""],
  [/ with the request \(--stdin, stdin\)/g, " under Run options"],
  [/ with the request \(--[^)]*\)/g, " as an uploaded file"],
  [/ with --[\w-]+(?: [\w.]+)? \([\w., ]+\)/g, " under Run options"],
  [/;? ?(?:or )?(?:raise|leave out) --[\w-]+(?: out)?/g, ""],
  [/ \((?:--[\w-]+|limits\.\w+|stdin|files)[^)]*\)/g, ""],
];

export const plain = (sentence: string): string => NOTATION.reduce((text, [from, to]) => text.replace(from, to), sentence);

/** What can be done on this page about an error of that kind, or a limit. */
export type Action = "upload" | "input" | "limit";

const BY_KIND: Record<string, Action> = {
  "missing-file": "upload", "missing-file-module": "upload", "missing-module": "upload", "missing-package": "upload", "missing-python-module": "upload",
  "missing-header": "upload", "missing-header-file": "upload", "no-package": "upload", "no-network": "upload",
  "no-input": "input",
  "memory": "limit", "memory-limit": "limit", "memory-error": "limit", "disk-full": "limit", "too-many-processes": "limit",
};
const BY_STATUS: Record<string, Action> = { timeout: "limit", out_of_memory: "limit" };

export const actionOf = (status: string, kind: string | null | undefined): Action | null => BY_STATUS[status] ?? BY_KIND[kind ?? ""] ?? null;

export const ACTIONS: Record<Action, string> = { upload: "Upload a file", input: "Enter the input", limit: "Raise the limit" };
