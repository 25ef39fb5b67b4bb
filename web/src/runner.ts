// From what is on the page to a run, and back.
import { api, ApiError, stream, type Fix, type Result } from "./api";
import type { Console } from "./console";
import { confirmed, say } from "./dialog";
import { bytes, seconds } from "./dom";
import { attached, displayOf, language, lastResult, options, running, session, sessions } from "./state";
import type { SessionResult } from "./session_types";
import { variables, words } from "./words";

export interface Program {
  code: string;
  name: string;
  /** The default name of this language's program, which need not be said. */
  usual: string;
  files: Record<string, string>;
}

export interface Watcher {
  begin(): void;
  output(data: Record<string, unknown>): void;
  ended(result: Result): void;
  /** The program may want input; null: no more. */
  input(send: ((text: string | null) => void) | null): void;
}

function limits(): Record<string, unknown> {
  const { timeout, memory, cpus, pids } = options.get();
  const chosen = Object.entries({ timeout, memory, cpus, pids }).filter(([, value]) => value.trim() !== "");
  return Object.fromEntries(chosen.map(([key, value]) => [key, /^[\d.]+$/.test(value.trim()) ? Number(value) : value.trim()]));
}

export const limitsChosen = limits;

function request(program: Program): Record<string, unknown> {
  const { stdin, args, env } = options.get();
  const files: Record<string, unknown> = { ...program.files };
  for (const file of attached.get()) files[file.name] = { base64: file.base64 };
  const some = (value: object): boolean => Object.keys(value).length > 0;
  const [argv, environment, bounds] = [words(args), variables(env), limits()];
  return {
    language: language.get(),
    code: program.code,
    ...(program.name !== program.usual ? { filename: program.name } : {}),
    ...(stdin ? { stdin } : {}),
    ...(argv.length ? { args: argv } : {}),
    ...(some(environment) ? { env: environment } : {}),
    ...(some(files) ? { files } : {}),
    ...(some(bounds) ? { limits: bounds } : {}),
  };
}

function cellRequest(program: Program): Record<string, unknown> {
  const { stdin, timeout } = options.get();
  return {
    code: program.code,
    ...(timeout.trim() ? { timeout: Number(timeout) } : {}),
    ...(stdin ? { stdin } : { input: "stream" }),
  };
}

let number = 0;
let stop: (() => void) | null = null;

/** How it ended, in one line: the same for people who read and for those who listen. */
export function summary(result: Result): string {
  const parts: string[] = [];
  if (result.status === "ok") parts.push("exit 0");
  else if (result.status === "failed") parts.push(result.signal ? `${result.signal}` : `exit ${result.exit_code}`);
  else parts.push(result.status.replaceAll("_", " "));
  parts.push(seconds(result.execution_time), `CPU ${seconds(result.cpu_time)}`, bytes(result.memory_used), result.meta.start);
  if (result.meta.build) parts.push(result.meta.build.cached ? "built before" : `built in ${seconds(result.meta.build.time)}`);
  return parts.join(" · ");
}

/** Runs something that answers with events, and writes to the console what it does. */
export async function runAt(path: string, body: Record<string, unknown>, title: string, shell: Console, watcher: Watcher | null, how: { interrupt?: () => Promise<unknown> } = {}): Promise<Result | null> {
  if (running.get()) return null;
  running.set(true);
  const abort = new AbortController();
  let id: string | null = null;
  let stopping = false;
  stop = () => {
    if (stopping) abort.abort();
    stopping = true;
    if (how.interrupt) how.interrupt().catch(() => abort.abort());
    else if (id) api.cancel(id).catch(() => abort.abort());
    else abort.abort();
  };
  shell.rule(`#${++number} ${title}`, "1;38;5;209");
  watcher?.begin();
  let outputs = 0;
  try {
    const result = await stream(path, body, {
      start: (name) => void (id = name),
      stdout: (text) => shell.write("stdout", text),
      stderr: (text) => shell.write("stderr", text),
      output: (data) => {
        outputs++;
        watcher?.output(data);
      },
    }, abort.signal);
    // Of a service that sends them only with the result.
    result.outputs.slice(outputs).forEach((data) => watcher?.output(data));
    if (result.error_message && result.status !== "ok") shell.note(result.error_message, "33");
    shell.rule(summary(result), result.status === "ok" ? "32" : "31");
    say(`Run ${number} ended: ${summary(result)}`);
    lastResult.set(result);
    watcher?.ended(result);
    return result;
  } catch (error) {
    if (abort.signal.aborted) shell.rule("cancelled", "33");
    else if (error instanceof ApiError && error.confirm && (await confirmed("Confirm this run", error.message, "Run it"))) {
      running.set(false);
      return await runAt(path, { ...body, confirm: error.confirm }, `${title}, confirmed`, shell, watcher, how);
    } else {
      const retry = error instanceof ApiError && error.retryAfter ? ` Ask again in ${error.retryAfter} s.` : "";
      shell.note(`${(error as Error).message}${retry}`, "31");
      shell.rule("not run", "31");
      say((error as Error).message);
    }
    return null;
  } finally {
    running.set(false);
    stop = null;
    watcher?.input(null);
  }
}

/** Runs a program in a box of its own, or in the session that was chosen. */
export async function run(program: Program, shell: Console, watcher: Watcher): Promise<Result | null> {
  const place = session.get();
  let body: Record<string, unknown>;
  try {
    body = place ? cellRequest(program) : request(program);
  } catch (error) {
    shell.note((error as Error).message, "31");
    return null;
  }
  if (!place) return runAt("/v1/execute", body, `${displayOf(language.get())}`, shell, watcher);
  for (const [name, text] of Object.entries(program.files)) await api.write(place.id, `code/${name}`, new Blob([text])).catch(() => {});
  if (body["input"]) {
    watcher.input((text) => {
      api.input(place.id, text === null ? { eof: true } : { data: text }).catch((error: Error) => shell.note(error.message, "31"));
    });
  }
  const title = `${displayOf(place.language)} session · cell ${(place.cells ?? 0) + 1}`;
  const result = (await runAt(`/v1/sessions/${encodeURIComponent(place.id)}/execute`, body, title, shell, watcher, {
    interrupt: () => api.interrupt(place.id),
  })) as SessionResult | null;
  if (result?.session?.state === "lost") {
    shell.note(`The session has ended${result.session.reason ? `: ${result.session.reason}` : ""}. Its state is gone; restart it, or run in a fresh box.`, "33");
    session.set({ ...place, status: "ended", reason: result.session.reason });
  } else if (result && session.get()?.id === place.id) {
    session.set({ ...place, status: "idle", cells: result.session?.cells ?? (place.cells ?? 0) + 1 });
  }
  void refreshSessions();
  return result;
}

export function stopRun(): void {
  stop?.();
}

/** null: this service has none. */
export async function refreshSessions(): Promise<void> {
  try {
    const found = (await api.sessions()).sessions;
    sessions.set(found);
    const mine = session.get();
    const now = mine && found.find((item) => item.id === mine.id);
    if (now) session.set(now);
    else if (mine && mine.status !== "ended") session.set({ ...mine, status: "ended", reason: "the service does not know it any more" });
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 405)) sessions.set(null);
  }
}

export type { Fix };
