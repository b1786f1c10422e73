import { styleText } from "node:util";
import type { RecordedExchange } from "../recordings/record.js";
import type { EmulatorRequest } from "../server/request-log.js";

/** A terminal line about a finished request. */
export interface RequestLine {
  readonly at: number;
  readonly ms: number;
  readonly method: string;
  readonly path: string;
  readonly model: string;
  /** Status of the response. Undefined if the network failed. */
  readonly status: number | undefined;
  /** How the request ended, in words. */
  readonly end: string;
}

const MAX_END_CHARACTERS = 300;
const MAX_NAME_CHARACTERS = 64;

/** Describes a request to the emulator. */
export function describeRequest(record: EmulatorRequest): RequestLine {
  const { at, endedAt = at, method, path, status } = record;
  return {
    at,
    ms: endedAt - at,
    method,
    path,
    model: readModel(record.body),
    status,
    end: describeEnd(record),
  };
}

/** Describes a recorded or replayed exchange. */
export function describeExchange({
  at,
  ms,
  method,
  path,
  body,
  status,
  note,
}: RecordedExchange): RequestLine {
  return { at, ms, method, path, model: readModel(body), status, end: note };
}

/** Formats a line: time, method, path, model, status, duration and the end. */
export function formatRequestLine({ at, ms, method, path, model, status, end }: RequestLine): string {
  const time = new Date(at).toTimeString().slice(0, 8);
  const columns = [
    applyStyle("dim", time),
    toPrintable(method, MAX_NAME_CHARACTERS).padEnd(4),
    toPrintable(path, MAX_NAME_CHARACTERS).padEnd(30),
    toPrintable(model || "-", MAX_NAME_CHARACTERS).padEnd(16),
    applyStyle(pickColor(status), String(status ?? "---")),
    formatDuration(ms).padStart(7),
    toPrintable(end, MAX_END_CHARACTERS),
  ];
  return columns.join("  ");
}

/** Returns the model that a request names. */
function readModel(body: unknown): string {
  const model = typeof body === "object" && body !== null && "model" in body ? body.model : undefined;
  return typeof model === "string" ? model : "";
}

function describeEnd(record: EmulatorRequest): string {
  const { error, aborted, finished, deltas, faults, unknownFields, unknownFaults } = record;
  const after = deltas > 0 ? ` after ${deltas} deltas` : "";
  const end =
    error ??
    (aborted ? `client disconnected${after}` : finished ? `finished${after}` : `connection broken${after}`);
  const requested = faults.map((fault) => ` [[${fault}]]`).join("");
  const fields = unknownFields.length > 0 ? `; not in the specification: ${unknownFields.join(", ")}` : "";
  const words = unknownFaults.map((fault) => `[[${fault}]]`).join(" ");
  const noFaults = error === undefined && words ? `; not a fault: ${words}` : "";
  return `${end}${requested}${fields}${noFaults}`;
}

function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function pickColor(status: number | undefined): "green" | "yellow" | "red" {
  if (status === undefined || status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}

function applyStyle(color: "dim" | "green" | "yellow" | "red", text: string): string {
  return styleText(color, text, { stream: process.stdout });
}

/** Cuts a text from a client, and removes control characters that would steer the terminal. */
function toPrintable(text: string, max: number): string {
  const clean = text.replace(/[\p{C}]+/gu, " ");
  return clean.length > max ? `${clean.slice(0, max)}…` : clean;
}
