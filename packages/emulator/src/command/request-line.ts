import { styleText } from "node:util";
import type { RecordedExchange } from "../recordings/record.js";
import type { EmulatorRequest } from "../server/request-log.js";

/** One line of the terminal about a request that has ended. */
export interface RequestLine {
  readonly at: number;
  readonly ms: number;
  readonly method: string;
  readonly path: string;
  readonly model: string;
  /** Status of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** Reason for the end, in words. */
  readonly end: string;
}

const LONGEST_END = 300;
const LONGEST_NAME = 64;

/** Describes a request of the emulator. */
export function lineOf(record: EmulatorRequest): RequestLine {
  const { at, endedAt = at, method, path, status } = record;
  return { at, ms: endedAt - at, method, path, model: modelOf(record.body), status, end: endOf(record) };
}

/** Describes a request that was recorded, or answered from a recording. */
export function lineOfExchange({ at, ms, method, path, body, status, note }: RecordedExchange): RequestLine {
  return { at, ms, method, path, model: modelOf(body), status, end: note };
}

/** Writes a line: time, method, path, model, status, duration and the reason for the end. */
export function format({ at, ms, method, path, model, status, end }: RequestLine): string {
  const time = new Date(at).toTimeString().slice(0, 8);
  const columns = [
    styled("dim", time),
    printable(method, LONGEST_NAME).padEnd(4),
    printable(path, LONGEST_NAME).padEnd(30),
    printable(model || "-", LONGEST_NAME).padEnd(16),
    styled(colorOf(status), String(status ?? "---")),
    durationOf(ms).padStart(7),
    printable(end, LONGEST_END),
  ];
  return columns.join("  ");
}

/** Returns the model that a request names. */
function modelOf(body: unknown): string {
  const model = typeof body === "object" && body !== null && "model" in body ? body.model : undefined;
  return typeof model === "string" ? model : "";
}

function endOf(record: EmulatorRequest): string {
  const { error, aborted, finished, deltas, faults, unknownFields, unknownFaults } = record;
  const after = deltas > 0 ? ` after ${deltas} deltas` : "";
  const end =
    error ?? (aborted ? `client left${after}` : finished ? `finished${after}` : `connection broken${after}`);
  const wanted = faults.map((fault) => ` [[${fault}]]`).join("");
  const unknown = unknownFields.length > 0 ? `; not in the specification: ${unknownFields.join(", ")}` : "";
  const noFault = unknownFaults.map((fault) => `[[${fault}]]`).join(" ");
  const unplayed = error === undefined && noFault ? `; not a fault: ${noFault}` : "";
  return `${end}${wanted}${unknown}${unplayed}`;
}

function durationOf(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function colorOf(status: number | undefined): "green" | "yellow" | "red" {
  if (status === undefined || status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}

function styled(color: "dim" | "green" | "yellow" | "red", text: string): string {
  return styleText(color, text, { stream: process.stdout });
}

/** Cuts a text of a client, and removes what a terminal would obey. */
function printable(text: string, most: number): string {
  const clean = text.replace(/[\p{C}]+/gu, " ");
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}
