// Of sessions, what api/openapi.yaml does not describe yet. Where a service has no such path the page says so in place.
import type { Result, Session } from "./generated/api";

export type { Session };

export interface SessionFile {
  name: string;
  type: "file" | "directory" | "link" | "other";
  size: number;
}

export interface Cell {
  count: number;
  code: string;
  status: string;
}

/** What a session's result has besides. */
export type SessionResult = Result & { session?: { id: string; state: "kept" | "lost"; reason: string | null; cells: number; unread?: string } };
