// From what is on the page to a run, and back.
import { api, ApiError, stream, type Result } from "./api";
import type { Console } from "./console";
import { confirmed, say } from "./dialog";
import { bytes, counted, seconds } from "./dom";
import type { Give } from "./input";
import { attached, displayOf, language, lastResult, options, running, session, sessions, type Attached } from "./state";
import { variables, words } from "./words";

export interface Program {
  code: string;
  /** Which part of the file it is; "": all of it. */
  part: string;
  name: string;
  /** The default name of this language's program, which need not be said. */
  usual: string;
  files: Record<string, string>;
}

export interface Watcher {
  begin(): void;
  output(data: Record<string, unknown>): void;
  ended(result: Result): void;
  /** The program may want input; null: no more. `keys`: it has a terminal, and is given each key as it is. */
  input(give: Give | null, keys: boolean): void;
}

function limits(): Record<string, unknown> {
  const { timeout, memory, cpus, pids, cpu_time, disk } = options.get();
  const chosen = Object.entries({ timeout, memory, cpus, pids, cpu_time, disk }).filter(([, value]) => value.trim() !== "");
  return Object.fromEntries(chosen.map(([key, value]) => [key, /^[\d.]+$/.test(value.trim()) ? Number(value) : value.trim()]));
}

export const limitsChosen = limits;

function request(program: Program, size: { rows: number; cols: number }): Record<string, unknown> {
  const { stdin, args, env, tty } = options.get();
  const files: Record<string, unknown> = { ...program.files };
  for (const file of attached.get()) files[file.name] = { base64: file.base64 };
  const some = (value: object): boolean => Object.keys(value).length > 0;
  const [argv, environment, bounds] = [words(args), variables(env), limits()];
  return {
    language: language.get(),
    code: program.code,
    ...(program.name !== program.usual ? { filename: program.name } : {}),
    ...(stdin ? { stdin } : { input: "stream" }),
    ...(tty && !stdin ? { tty: size } : {}),
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
    ...(timeout.trim() ? { timeout: /^[\d.]+$/.test(timeout.trim()) ? Number(timeout) : timeout } : {}),
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

/** Its sentence is one that the program has written itself. */
function isTold({ status, error_message: sentence, stderr }: Result): boolean {
  return status === "ok" || (status === "failed" && sentence !== null && stderr.includes(sentence.replace(/^[^:]*: /, "")));
}

/** Runs something that answers with events, and writes to the console what it does. */
export async function runAt(path: string, body: Record<string, unknown>, title: string, shell: Console, watcher: Watcher | null, how: { interrupt?: () => Promise<unknown>; give?: (id: string) => Give } = {}): Promise<Result | null> {
  if (running.get()) return null;
  running.set(true);
  const abort = new AbortController();
  let id: string | null = null;
  let stopping = false;
  stop = () => {
    if (stopping) abort.abort();
    stopping = true;
    if (how.interrupt) how.interrupt().catch(() => abort.abort());
    // 409: it is over already, and its result is on the way behind what it wrote.
    else if (id) api.cancel(id).catch((error: unknown) => !(error instanceof ApiError && error.status === 409) && abort.abort());
    else abort.abort();
  };
  shell.heading(`#${++number} ${title}`);
  watcher?.begin();
  let outputs = 0;
  let unseen = 0;
  const written = (name: "stdout" | "stderr", text: string): Promise<void> | void => {
    // Who has stopped a flood does not want to see the rest of it.
    if (stopping && (shell.full || unseen > 0)) return void (unseen += text.length);
    shell.write(name, text);
    return shell.drained();
  };
  try {
    const result = await stream(path, body, {
      start: (name) => {
        id = name;
        if (how.give) watcher?.input(how.give(name), "tty" in body);
      },
      stdout: (text) => written("stdout", text),
      stderr: (text) => written("stderr", text),
      output: (data) => {
        outputs++;
        watcher?.output(data);
      },
    }, abort.signal);
    // Of a service that sends them only with the result.
    result.outputs.slice(outputs).forEach((data) => watcher?.output(data));
    if (unseen > 0) shell.note(`${counted(unseen, "character")} that came after Stop are not shown.`);
    if (result.error_message && !isTold(result)) shell.note(result.error_message, "33");
    shell.note(`${result.status === "ok" ? "✓" : "✗"} ${summary(result)}`, result.status === "ok" ? "32" : "31");
    say(`Run ${number} ended: ${summary(result)}`);
    lastResult.set(result);
    watcher?.ended(result);
    return result;
  } catch (error) {
    if (abort.signal.aborted) shell.note("✗ cancelled", "33");
    else if (error instanceof ApiError && error.confirm && (await confirmed("Confirm this run", error.message, "Run it"))) {
      running.set(false);
      return await runAt(path, { ...body, confirm: error.confirm }, `${title}, confirmed`, shell, watcher, how);
    } else {
      const retry = error instanceof ApiError && error.retryAfter ? ` Ask again in ${error.retryAfter} s.` : "";
      shell.note(`${(error as Error).message}${retry}`, "31");
      shell.note("✗ not run", "31");
      say((error as Error).message);
    }
    return null;
  } finally {
    running.set(false);
    stop = null;
    watcher?.input(null, false);
  }
}

/** What it was, by session: a file that was sent there once is there. */
const brought = new Map<string, Set<Attached>>();

/** Puts beside a cell what goes along with it; false: it cannot, and that was told. */
async function bring(id: string, program: Program, shell: Console): Promise<boolean> {
  const there = brought.get(id) ?? new Set();
  brought.set(id, there);
  const data = (base64: string): Blob => new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]);
  try {
    for (const file of attached.get().filter((item) => !there.has(item))) {
      await api.write(id, `code/${file.name}`, data(file.base64));
      there.add(file);
    }
    for (const [name, text] of Object.entries(program.files)) await api.write(id, `code/${name}`, new Blob([text]));
    return true;
  } catch (error) {
    shell.note(`The files beside it cannot be brought to the session: ${(error as Error).message}`, "31");
    return false;
  }
}

/** One after the other, in the order in which it was typed. */
function giveTo(give: (request: { data: string } | { eof: true }) => Promise<unknown>): Give {
  let last: Promise<unknown> = Promise.resolve();
  return (text) => (last = last.catch(() => {}).then(() => give(text === null ? { eof: true } : { data: text })));
}

/** Runs a program in a box of its own, or in the session that was chosen. */
export async function run(program: Program, shell: Console, watcher: Watcher): Promise<Result | null> {
  if (running.get()) return null;
  const place = session.get();
  let body: Record<string, unknown>;
  try {
    body = place ? cellRequest(program) : request(program, { rows: shell.terminal.rows, cols: shell.terminal.cols });
  } catch (error) {
    shell.note((error as Error).message, "31");
    return null;
  }
  if (!place)
    return runAt("/v1/execute", body, `${displayOf(language.get())}${program.part ? `, ${program.part}` : ""}`, shell, watcher, body["input"] ? { give: (id) => giveTo((data) => api.give(id, data)) } : {});
  if (!(await bring(place.id, program, shell))) return null;
  const title = `${place.name || displayOf(place.language)}, cell ${place.cells + 1}${program.part ? `, ${program.part}` : ""}`;
  const result = await runAt(`/v1/sessions/${encodeURIComponent(place.id)}/execute`, body, title, shell, watcher, {
    interrupt: () => api.interrupt(place.id),
    ...(body["input"] ? { give: () => giveTo((data) => api.input(place.id, data)) } : {}),
  });
  if (result?.session?.state === "lost") {
    shell.note(`The session has ended${result.session.reason ? `: ${result.session.reason}` : ""}. Its state is gone; begin another, or run in a fresh box.`, "33");
    session.set({ ...place, status: "ended", reason: result.session.reason });
  } else if (result && session.get()?.id === place.id) {
    session.set({ ...place, status: "idle", cells: result.session?.cells ?? place.cells + 1 });
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
