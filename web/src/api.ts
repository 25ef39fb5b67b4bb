// The service, as api/openapi.yaml describes it: one place that knows of tokens, errors and event streams.
import { refusal } from "./advice";
import type { Cell, CodeError, Container, Doctor, Error as ErrorBody, Execution, ExecutionList, FileEntry, Fix, Health, InputRequest, Language, PolicyReport, Profile, Result, ServiceStatus, Session, Started } from "./generated/api";

export type { Cell, CodeError, Container, Doctor, Execution, ExecutionList, FileEntry, Fix, Health, Language, PolicyReport, Profile, Result, Session, Started };

/** A refused request, in words for this page. `status` 0: there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null = null,
    readonly confirm: string | null = null,
    readonly retryAfter = 0,
  ) {
    super(refusal(message, field));
  }
}

const KEY = "emberbox.token";
let token = "";

/** Takes the token of the address, whose fragment it leaves at once, or the one that was kept. */
export function takeToken(): void {
  const given = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (given?.[1]) {
    setToken(decodeURIComponent(given[1]), false);
    const rest = location.hash.replace(given[0], "").replace(/^#?&?/, "");
    history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
    return;
  }
  token = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? "";
}

/** With `keep` it outlives the tab. */
export function setToken(text: string, keep: boolean): void {
  token = text.trim();
  sessionStorage.setItem(KEY, token);
  if (keep) localStorage.setItem(KEY, token);
  else if (localStorage.getItem(KEY) !== token) localStorage.removeItem(KEY);
}

export function forgetToken(): void {
  token = "";
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
}

export const hasToken = (): boolean => token !== "";

type Listener = (reached: boolean) => void;
const listeners = new Set<Listener>();
/** The listener is called after every request, with whether there was an answer. */
export const onReach = (listener: Listener): void => void listeners.add(listener);
const reach = (reached: boolean): void => listeners.forEach((listener) => listener(reached));

let refused: () => void = () => {};
/** The token is none of the service's. */
export const onUnauthorized = (call: () => void): void => void (refused = call);

async function fail(response: Response): Promise<never> {
  let body: ErrorBody["error"] | undefined;
  try {
    body = ((await response.json()) as ErrorBody).error;
  } catch {
    // A proxy's page, or nothing.
  }
  if (response.status === 401) refused();
  const message = body?.message ?? `The service answered with status ${response.status}.`;
  throw new ApiError(response.status, body?.code ?? "failed", message, body?.field ?? null, body?.confirm ?? null, body?.retry_after ?? 0);
}

async function send(method: string, path: string, body?: unknown, extra: RequestInit = {}): Promise<Response> {
  const headers = new Headers(extra.headers);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const raw = body instanceof Blob || body instanceof ArrayBuffer;
  if (body !== undefined && !raw) headers.set("Content-Type", "application/json");
  let response: Response;
  try {
    response = await fetch(path, {
      ...extra,
      method,
      headers,
      ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
    });
  } catch (error) {
    if (extra.signal?.aborted) throw error;
    reach(false);
    throw new ApiError(0, "unreachable", "Cannot reach the service.");
  }
  reach(true);
  return response.ok ? response : fail(response);
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await (await send(method, path, body)).json()) as T;
}

export interface RunEvents {
  start?(id: string): void;
  /** The stream waits for the returned promise: output that comes too fast is not read yet. */
  stdout?(text: string): Promise<void> | void;
  stderr?(text: string): Promise<void> | void;
  output?(data: Record<string, unknown>): void;
}

/** One event after the other: name and data. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<[string, string]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (name) yield [name, data];
    }
  }
}

/** Runs something with events as they come; its result. Aborting the signal ends the run. */
export async function stream(path: string, request: unknown, on: RunEvents, signal: AbortSignal): Promise<Result> {
  const response = await send("POST", path, request, { headers: { Accept: "text/event-stream" }, signal });
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream") || !response.body) return (await response.json()) as Result;
  try {
    for await (const [name, data] of events(response.body)) {
      const value = JSON.parse(data) as never;
      if (name === "start") on.start?.((value as { id: string }).id);
      else if (name === "stdout") await on.stdout?.((value as { text: string }).text);
      else if (name === "stderr") await on.stderr?.((value as { text: string }).text);
      else if (name === "output") on.output?.(value as Record<string, unknown>);
      else if (name === "result") return value as Result;
      else if (name === "error") {
        const error = (value as ErrorBody).error;
        throw new ApiError(500, error.code, error.message, error.field ?? null, error.confirm ?? null);
      }
    }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    reach(false);
  }
  throw new ApiError(0, "unreachable", "The connection to the service was lost while this was running.");
}

const part = encodeURIComponent;
const pathOf = (path: string): string => path.split("/").map(part).join("/");

/** Calls it for whatever happens to a session's files, until the signal or the session ends it. */
export async function watchFiles(id: string, happened: () => void, signal: AbortSignal): Promise<void> {
  const response = await send("GET", `/v1/sessions/${part(id)}/files?watch=1&recursive=1`, undefined, { signal });
  if (!response.body) return;
  for await (const [name] of events(response.body)) if (name !== "watching") happened();
}

export const api = {
  health: () => ask<Health>("GET", "/v1/health"),
  languages: () => ask<Language[]>("GET", "/v1/languages"),
  doctor: () => ask<Doctor>("GET", "/v1/doctor"),
  status: () => ask<ServiceStatus>("GET", "/v1/status"),
  cancel: (id: string) => ask<unknown>("DELETE", `/v1/executions/${part(id)}`),
  executions: (query: Record<string, string>) => ask<ExecutionList>("GET", `/v1/executions?${new URLSearchParams(query)}`),
  execution: (id: string) => ask<Execution>("GET", `/v1/executions/${part(id)}`),
  left: async (id: string, path: string) => (await send("GET", `/v1/executions/${part(id)}/files/${pathOf(path)}`)).blob(),
  give: (id: string, request: InputRequest) => ask<unknown>("POST", `/v1/executions/${part(id)}/input`, request),
  check: (language: string, code: string) => ask<PolicyReport>("POST", "/v1/check", { language, code }),

  profiles: () => ask<{ containers: Profile[] }>("GET", "/containers"),
  containers: () => ask<{ containers: Container[] }>("GET", "/containers/status"),
  startContainer: (request: Record<string, unknown>) => ask<Started>("POST", "/containers/start", request),
  stopContainer: (id: string) => ask<unknown>("POST", "/containers/stop", { id }),

  sessions: () => ask<{ sessions: Session[] }>("GET", "/v1/sessions"),
  session: (id: string) => ask<Session>("GET", `/v1/sessions/${part(id)}`),
  newSession: (request: Record<string, unknown>) => ask<Session>("POST", "/v1/sessions", request),
  endSession: (id: string) => ask<unknown>("DELETE", `/v1/sessions/${part(id)}`),
  interrupt: (id: string) => ask<{ interrupted: boolean }>("POST", `/v1/sessions/${part(id)}/interrupt`, {}),
  restart: (id: string) => ask<Session>("POST", `/v1/sessions/${part(id)}/restart`, {}),
  input: (id: string, request: InputRequest) => ask<unknown>("POST", `/v1/sessions/${part(id)}/input`, request),
  complete: (id: string, code: string, cursor: number) =>
    ask<{ matches: string[]; cursor_start: number; cursor_end: number }>("POST", `/v1/sessions/${part(id)}/complete`, { code, cursor }),
  inspect: (id: string, code: string, cursor: number) =>
    ask<{ found: boolean; data: Record<string, string> }>("POST", `/v1/sessions/${part(id)}/inspect`, { code, cursor }),
  cells: (id: string) => ask<{ cells: Cell[] }>("GET", `/v1/sessions/${part(id)}/cells`),
  list: (id: string, path: string) => ask<{ entries: FileEntry[]; truncated: boolean }>("GET", `/v1/sessions/${part(id)}/files${path ? `?path=${part(path)}` : ""}`),
  read: async (id: string, path: string) => (await send("GET", `/v1/sessions/${part(id)}/files/${pathOf(path)}`)).blob(),
  /** null: there is none. */
  readIfThere: (id: string, path: string): Promise<Blob | null> =>
    api.read(id, path).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }),
  /** Whether there is something of that name, also a directory. */
  exists: async (id: string, path: string): Promise<boolean> => {
    try {
      await send("HEAD", `/v1/sessions/${part(id)}/files/${pathOf(path)}`);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      // A directory is no file, and it is there.
      if (error instanceof ApiError && error.status === 400) return true;
      throw error;
    }
  },
  write: async (id: string, path: string, content: Blob) => void (await send("PUT", `/v1/sessions/${part(id)}/files/${pathOf(path)}`, content)),
  remove: async (id: string, path: string) => void (await send("DELETE", `/v1/sessions/${part(id)}/files/${pathOf(path)}`)),
  move: async (id: string, path: string, to: string) => void (await send("POST", `/v1/sessions/${part(id)}/files/${pathOf(path)}`, { move: to })),
};

/** The terminal of a session. A browser cannot set a header here, so the token is a subprotocol. */
export function terminalSocket(id: string): WebSocket {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}/v1/sessions/${part(id)}/terminal`, ["emberbox.terminal", `emberbox.token.${token}`]);
}
