import type { Reading } from "./reading.ts";

/* What the readers of all clients have in common. */

/** Limit of time that each client is given where it has an option for it, in milliseconds. */
export const LIMIT_MS = 3000;
/** Limit of the whole request, for the clients that have one. */
export const TOTAL_MS = 12_000;
export const API_KEY = "sk-fault";
export const MODEL = "delta-5.3";
export const PROMPT = "How deep is the Elbe?";
export const messages = [{ role: "user" as const, content: PROMPT }];

/** The tools of all faults. */
export const toolNames = [
  "read_note",
  "delete_note",
  "read_file",
  "write_file",
  "delete_file",
  "weather",
  "refresh",
  "pay",
];

/** A client that reads a chat from a base URL, `http://127.0.0.1:8788/faults/cut-in-text`. */
export interface FaultReader {
  /** Packages of the client, for the versions in the table. */
  readonly packages: readonly string[];
  readonly stream: (baseURL: string) => Promise<Reading>;
  /** Reads a whole response. Absent if the client streams every request. */
  readonly complete?: (baseURL: string) => Promise<Reading>;
  /** True if the client leaves it to its user to put the calls of a stream together. */
  readonly lacksStreamedCalls?: true;
}
