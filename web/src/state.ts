// The page's state, as values that can be watched.
import type { Language, Result, Session } from "./generated/api";

export class Value<T> {
  #value: T;
  readonly #listeners = new Set<(value: T, before: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }
  get(): T {
    return this.#value;
  }
  set(value: T): void {
    const before = this.#value;
    if (Object.is(before, value)) return;
    this.#value = value;
    this.#listeners.forEach((listener) => listener(value, before));
  }
  /** Calls it now, and at each change. */
  watch(listener: (value: T, before: T) => void): void {
    this.#listeners.add(listener);
    listener(this.#value, this.#value);
  }
  /** Calls it at each change. */
  changed(listener: (value: T, before: T) => void): void {
    this.#listeners.add(listener);
  }
}

/** A kept value; null: there is none, or it cannot be read. */
export function read<T>(key: string, where: Storage = localStorage): T | null {
  try {
    const text = where.getItem(`emberbox.${key}`);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    // Another version's.
    return null;
  }
}

/** Keeps a value. False: the browser has no room or does not allow it, and the value lasts as long as the page. */
export function write(key: string, value: unknown, where: Storage = localStorage): boolean {
  try {
    where.setItem(`emberbox.${key}`, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/**
 * A value that outlives the page. `own`: each tab of the browser has its own, and a new tab begins with the last choice of
 * any tab.
 */
export function kept<T>(key: string, initial: T, own = false): Value<T> {
  const value = new Value((own ? read<T>(key, sessionStorage) : null) ?? read<T>(key) ?? initial);
  value.changed((now) => {
    write(key, now);
    if (own) write(key, now, sessionStorage);
  });
  return value;
}

export interface RunOptions {
  stdin: string;
  args: string;
  env: string;
  timeout: string;
  memory: string;
  cpus: string;
  pids: string;
  cpu_time: string;
  disk: string;
  /** Not empty: the program has a terminal. */
  tty: string;
}

export const noOptions: RunOptions = { stdin: "", args: "", env: "", timeout: "", memory: "", cpus: "", pids: "", cpu_time: "", disk: "", tty: "" };

/** The editor's files, to be opened later. */
export interface Draft {
  language: string;
  /** `origin`: it is one of a session. */
  files: { name: string; text: string; origin?: { session: string; path: string } }[];
  args?: string[];
  stdin?: string;
}

/** A file that is sent along with the next run, as it is. */
export interface Attached {
  name: string;
  base64: string;
  size: number;
}

export const languages = new Value<Language[]>([]);
/** The name of the chosen one. */
export const language = kept("language", "python", true);
export const options = kept<RunOptions>("options", noOptions, true);
// An older page may have kept fewer options.
options.set({ ...noOptions, ...options.get() });
export const attached = new Value<Attached[]>([]);
/** The session that code runs in; null: each run has a box of its own. */
export const session = new Value<Session | null>(null);
export const sessions = new Value<Session[] | null>(null);
/** A run of this page is under way. */
export const running = new Value(false);
export const lastResult = new Value<Result | null>(null);
export type Reach = "yes" | "no" | "unknown";
export const reached = new Value<Reach>("unknown");

export const languageOf = (name: string): Language | undefined =>
  languages.get().find((item) => item.name === name || item.aliases.includes(name));
export const displayOf = (name: string | null): string => (name && languageOf(name)?.display) || name || "";

/** Which session it was, for a page that is loaded again. */
export const sessionKept = kept<string | null>("session", null, true);
session.changed((now) => sessionKept.set(now?.id ?? null));
