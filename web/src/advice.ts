// Sentences of the service, as a page says them. The service writes for command lines and programs at once, and names for
// both what to give: "--memory 1g (limits.memory)". This page has buttons and fields for that, and no command line.

const NOTATION: [RegExp, string][] = [
  [/\ballow (?:it|the host) with --net [^ ]+ \(network\), or /g, ""],
  [/ ?\bAllow it with --net [^ ]+(?: [^ ]+)? \(network\)\./g, ""],
  [/\ballow more with --[\w-]+(?: [\w.]+)? \([\w.]+\)/g, "raise the limit"],
  [/\b(?:give|name) ([^;:,]{1,60}?) with (?:--(?:file|project) \([\w, ]+\)|the request \(--file[^)]*\))/g, "upload $1"],
  [/\bgive ([^;:,]{1,40}?) with the request \(--stdin, stdin\)/g, "enter $1 under Run options"],
  [/,? or the directory with --project\b/g, ""],
  [/(?:,? or accept it:| without) --allow-weaker [\w-]+/g, ""],
  [/ with --[\w-]+(?: [\w.]+)? \([\w., ]+\)/g, " under Run options"],
  [/;? ?(?:or )?(?:raise|leave out) --[\w-]+(?: out)?/g, ""],
  [/ \((?:--[\w-]+|limits\.\w+|stdin|files)[^)]*\)/g, ""],
];

export const plain = (sentence: string): string => NOTATION.reduce((text, [from, to]) => text.replace(from, to), sentence);

/** The page's names for the fields of a request. */
const LABELS: Record<string, string> = {
  timeout: "Time", memory: "Memory", cpus: "Cores", pids: "Processes", cpu_time: "CPU time", disk: "Disk",
  stdin: "Standard input", args: "Arguments", env: "Environment", files: "Files", filename: "File name", code: "Code", language: "Language",
};

/** Why a request was refused. A field is named as the page names it, where the service begins with its name. */
export function refusal(message: string, field: string | null): string {
  const label = LABELS[field?.replace(/^limits\./, "").split(/[.[/]/)[0] ?? ""];
  return plain(label && message.startsWith(`${field}: `) ? `${label}: ${message.slice(field!.length + 2)}` : message);
}

/** An action of this page that helps with an error of a kind, or with a limit. */
export type Action = "upload" | "input" | "limit";

const BY_KIND: Record<string, Action> = {
  "missing-file": "upload", "missing-file-module": "upload", "missing-module": "upload", "missing-package": "upload", "missing-python-module": "upload",
  "missing-header-file": "upload", "missing-class": "upload", "missing-table": "upload", "cannot-open": "upload", "undefined-reference": "upload",
  "no-install": "upload", "no-network": "upload", "connection-refused": "upload", "download-command": "upload",
  "no-input": "input",
  "memory": "limit", "memory-limit": "limit", "memory-error": "limit", "heap": "limit", "bad-allocation": "limit", "disk-full": "limit",
  "too-many-processes": "limit",
};
const BY_STATUS: Record<string, Action> = { timeout: "limit", out_of_memory: "limit" };

export const actionOf = (status: string, kind: string | null | undefined): Action | null => BY_STATUS[status] ?? BY_KIND[kind ?? ""] ?? null;

export const ACTIONS: Record<Action, string> = { upload: "Upload a file", input: "Enter input", limit: "Raise the limit" };
