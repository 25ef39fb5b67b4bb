// Runs: from the page's program and options to a request, and from its events to the console.
import { api, ApiError, stream, type Result, type Session } from "./api";
import type { Console } from "./console";
import { confirmed, say } from "./dialog";
import { plain } from "./advice";
import { bytes, counted, listed, seconds } from "./dom";
import type { Give } from "./input";
import { attached, displayOf, language, lastResult, options, running, session, sessions } from "./state";
import { variables, words } from "./words";

export interface Program {
  code: string;
  /** Which part of the file it is; "": all of it. */
  part: string;
  name: string;
  /** The default name of this language's program, which need not be said. */
  usual: string;
  files: Record<string, string>;
  /** The names of all tabs. */
  tabs: string[];
}

export interface Watcher {
  begin(): void;
  output(data: Record<string, unknown>): void;
  ended(result: Result): void;
  /** The program can be given input; null: no longer. `keys`: it has a terminal and receives each key. */
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
  // Where an uploaded file has the name of a tab, the tab wins, because it is visible.
  const files: Record<string, unknown> = {};
  for (const file of attached.get()) if (!program.tabs.includes(file.name)) files[file.name] = { base64: file.base64 };
  Object.assign(files, program.files);
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

/** Results of runs that were ended by Stop: no failures of the program's. */
const stopped = new WeakSet<Result>();
export const wasStopped = (result: Result): boolean => stopped.has(result);

/** How a run ended, in one line, for the console and for screen readers. */
export function summary(result: Result, isStopped = stopped.has(result)): string {
  const parts: string[] = [];
  if (isStopped) parts.push("stopped");
  else if (result.status === "ok") parts.push("exit 0");
  else if (result.status === "failed") parts.push(result.signal ? `${result.signal}` : `exit ${result.exit_code}`);
  else parts.push(result.status.replaceAll("_", " "));
  parts.push(seconds(result.execution_time), `CPU ${seconds(result.cpu_time)}`, bytes(result.memory_used), result.meta.start);
  if (result.meta.build) parts.push(result.meta.build.cached ? "compiled earlier" : `compiled in ${seconds(result.meta.build.time)}`);
  return parts.join(" · ");
}

/** Whether the program's own output already has the sentence of its failure. */
function isTold({ status, error_message: sentence, stderr }: Result): boolean {
  return status === "ok" || (status === "failed" && sentence !== null && stderr.includes(sentence.replace(/^[^:]*: /, "")));
}

/** Sends a request that is answered with events, and writes them to the console. */
export async function runAt(path: string, body: Record<string, unknown>, title: string, shell: Console, watcher: Watcher | null, how: { interrupt?: () => Promise<unknown>; give?: (id: string) => Give; waiting?: () => boolean; begun?: Promise<void> } = {}): Promise<Result | null> {
  if (running.get()) return null;
  running.set(true);
  const abort = new AbortController();
  let id: string | null = null;
  let stopping = false;
  stop = () => {
    if (stopping) abort.abort();
    stopping = true;
    // A cell that still waits is withdrawn: an interrupt would hit the other page's cell.
    if (how.waiting?.()) abort.abort();
    else if (how.interrupt) how.interrupt().catch(() => abort.abort());
    // 409: the run has ended already, and its result follows its output.
    else if (id) api.cancel(id).catch((error: unknown) => !(error instanceof ApiError && error.status === 409) && abort.abort());
    else abort.abort();
  };
  shell.heading(`#${++number} ${title}`, "tty" in body);
  watcher?.begin();
  let over = false;
  let outputs = 0;
  let unseen = 0;
  const written = (name: "stdout" | "stderr", text: string): Promise<void> | void => {
    // After Stop the rest of a flood is not shown.
    if (stopping && (shell.full || unseen > 0)) return void (unseen += text.length);
    shell.write(name, text);
    return shell.drained();
  };
  try {
    const result = await stream(path, body, {
      start: (name) => {
        id = name;
        // While another cell runs, input would go to that cell.
        if (how.give) void (how.begun ?? Promise.resolve()).then(() => over || watcher?.input(how.give!(name), "tty" in body));
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
    if (unseen > 0) shell.note(`${counted(unseen, "more character")} arrived after Stop and ${unseen === 1 ? "is" : "are"} not shown.`);
    if (stopping && result.status !== "ok" && result.status !== "timeout" && result.status !== "out_of_memory") stopped.add(result);
    const ours = stopped.has(result);
    if (result.error_message && !ours && !isTold(result)) shell.note(plain(result.error_message), "warn");
    if (result.truncated) shell.note("The service kept only part of this output.", "warn");
    shell.note(`${ours ? "■" : result.status === "ok" ? "✓" : "✗"} ${summary(result)}`, ours ? "stopped" : result.status === "ok" ? "ok" : "bad");
    say(`Run ${number} ended: ${summary(result)}`);
    lastResult.set(result);
    watcher?.ended(result);
    return result;
  } catch (error) {
    if (abort.signal.aborted) shell.note("■ stopped", "stopped");
    else if (error instanceof ApiError && error.confirm && (await confirmed("Run this code?", error.message, "Run"))) {
      running.set(false);
      return await runAt(path, { ...body, confirm: error.confirm }, `${title}, confirmed`, shell, watcher, how);
    } else {
      const retry = error instanceof ApiError && error.retryAfter ? ` Try again in ${error.retryAfter} s.` : "";
      const { message } = error as Error;
      shell.note(`${message}${retry}`, "bad");
      // With an id the run had begun, however it ended.
      shell.note(id !== null ? "✗ interrupted: no result was received (see History)" : "✗ not run", "bad");
      say(message);
    }
    return null;
  } finally {
    over = true;
    running.set(false);
    stop = null;
    watcher?.input(null, false);
  }
}

/** Files that this page has put into each session, by path: unchanged ones may be replaced without a question. */
const brought = new Map<string, Map<string, Blob>>();

const same = async (one: Blob, other: Blob): Promise<boolean> => {
  if (one.size !== other.size) return false;
  const [a, b] = await Promise.all([one.arrayBuffer(), other.arrayBuffer()]);
  const [left, right] = [new Uint8Array(a), new Uint8Array(b)];
  return left.every((byte, at) => byte === right[at]);
};

/** Copies the program's other files into the session; false: it did not, and the console says why. A file that the session
 *  has of its own, or has changed, is replaced only after a question. */
async function bring(id: string, program: Program, shell: Console): Promise<boolean> {
  const known = brought.get(id) ?? new Map<string, Blob>();
  brought.set(id, known);
  const data = (base64: string): Blob => new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]);
  const wanted = new Map<string, Blob>(attached.get().filter((file) => !program.tabs.includes(file.name)).map((file) => [file.name, data(file.base64)]));
  for (const [name, text] of Object.entries(program.files)) wanted.set(name, new Blob([text]));
  try {
    const changed: string[] = [];
    const foreign: string[] = [];
    for (const [name, content] of wanted) {
      const there = await api.readIfThere(id, `code/${name}`);
      if (there && (await same(there, content))) continue;
      changed.push(name);
      const ours = known.get(name);
      if (there && !(ours && (await same(there, ours)))) foreign.push(name);
    }
    if (foreign.length > 0 && !(await confirmed("Replace files?", `The session has ${foreign.length === 1 ? "a different version" : "different versions"} of ${listed(foreign.map((name) => `code/${name}`))}. Running now replaces ${foreign.length === 1 ? "it with yours" : "them with yours"}.`, "Replace and run"))) {
      shell.note("Not run: your version would have replaced files in the session.", "warn");
      return false;
    }
    for (const name of changed) {
      await api.write(id, `code/${name}`, wanted.get(name)!);
      known.set(name, wanted.get(name)!);
    }
    return true;
  } catch (error) {
    shell.note(`Could not copy the files to the session: ${(error as Error).message}`, "bad");
    return false;
  }
}

/** Says that our cell waits for another page's cell, and calls `begun` when it no longer does. */
async function watchQueue(id: string, before: Session, shell: Console, over: AbortSignal, begun: () => void): Promise<void> {
  const words = "Waiting: another cell is running in this session.";
  shell.note(words);
  say(words);
  while (!over.aborted) {
    await new Promise((done) => window.setTimeout(done, 300));
    const now = await api.session(id).catch(() => null);
    if (now?.status === "busy" && now.cells === before.cells) continue;
    return begun();
  }
}

/** One after the other, in the order in which it was typed. */
function giveTo(give: (request: { data: string } | { eof: true }) => Promise<unknown>): Give {
  let last: Promise<unknown> = Promise.resolve();
  return (text) => (last = last.catch(() => {}).then(() => give(text === null ? { eof: true } : { data: text })));
}

/** Says which uploaded files are not used. */
function hidden(program: Program, shell: Console): void {
  const names = attached.get().map((file) => file.name).filter((name) => program.tabs.includes(name));
  if (names.length > 0) shell.note(`${listed(names)}: the editor tab is used instead of the uploaded file with the same name.`, "warn");
}

/** Runs a program in a sandbox of its own, or in the session that was chosen. */
export async function run(program: Program, shell: Console, watcher: Watcher): Promise<Result | null> {
  if (running.get()) return null;
  const place = session.get();
  let body: Record<string, unknown>;
  try {
    body = place ? cellRequest(program) : request(program, { rows: shell.terminal.rows, cols: shell.terminal.cols });
  } catch (error) {
    shell.note((error as Error).message, "bad");
    return null;
  }
  if (!place) {
    hidden(program, shell);
    return runAt("/v1/execute", body, `${displayOf(language.get())}${program.part ? `, ${program.part}` : ""}`, shell, watcher, body["input"] ? { give: (id) => giveTo((data) => api.give(id, data)) } : {});
  }
  hidden(program, shell);
  running.set(true);
  const ready = await bring(place.id, program, shell);
  const before = ready ? await api.session(place.id).catch(() => null) : null;
  running.set(false);
  if (!ready) return null;
  const title = `${place.name || displayOf(place.language)}, cell ${(before?.cells ?? place.cells) + (before?.status === "busy" ? 2 : 1)}${program.part ? `, ${program.part}` : ""}`;
  let waiting = before?.status === "busy";
  let begin = (): void => {};
  const begun = new Promise<void>((done) => (begin = done));
  const over = new AbortController();
  const going = runAt(`/v1/sessions/${encodeURIComponent(place.id)}/execute`, body, title, shell, watcher, {
    interrupt: () => api.interrupt(place.id),
    waiting: () => waiting,
    ...(waiting ? { begun } : {}),
    ...(body["input"] ? { give: () => giveTo((data) => api.input(place.id, data)) } : {}),
  });
  if (before && waiting) void watchQueue(place.id, before, shell, over.signal, () => {
    waiting = false;
    begin();
  });
  const result = await going;
  over.abort();
  if (result?.session?.state === "lost") {
    shell.note(`The session has ended${result.session.reason ? `: ${result.session.reason}` : ""}. Its variables and files were lost. Start a new session or run in a new sandbox.`, "warn");
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
    else if (mine && mine.status !== "ended") session.set({ ...mine, status: "ended", reason: "it was not found on the service" });
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 405)) sessions.set(null);
  }
}
