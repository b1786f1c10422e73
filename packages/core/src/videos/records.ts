import { isRecord } from "../error-body.js";
import { isGatewayError } from "../errors.js";
import type { VideoTask } from "../task.js";
import type { VideoTaskEntry } from "./ledger.js";

/** An entry with the count of its changes: the copy with the higher one is newer. */
export interface EntryCopy {
  readonly entry: VideoTaskEntry;
  readonly revision: number;
}

/** The record that keeps an entry; undefined, which removes it, for none. */
export function recordOf(entry: VideoTaskEntry | undefined, revision: number | undefined): unknown {
  if (!entry) return undefined;
  const { error, task, ...rest } = entry;
  return {
    ...rest,
    revision,
    // the gateway's own words are not needed again, and may be long
    ...(task && { task: { ...task, raw: undefined } }),
    ...(error && { error: { name: error.name, message: error.message, outcome: outcomeOf(error) } }),
  };
}

/**
 * Reads an entry out of a record. A storage may hold anything: each field that does not fit is left out. A record that
 * has no task id is no entry unless all of its own fields fit.
 */
export function copyIn(key: string, record: unknown): EntryCopy | undefined {
  if (!isRecord(record)) return undefined;
  const { state, model = "", submittedAt = 0, revision = 0, label } = fieldsIn(record, ENTRY);
  const handle = fieldsIn(record["handle"], HANDLE);
  const { id } = handle;
  const isWhole = record["key"] === key && Object.keys(fieldsIn(record, WHOLE)).length === 4;
  if (!id && !(isWhole && (state === "submitting" || state === "unconfirmed"))) return undefined;
  const task = taskIn(record["task"]);
  const error = isRecord(record["error"]) && fieldsIn(record["error"], ERROR);
  return {
    revision,
    entry: {
      key,
      model,
      submittedAt,
      ...(label !== undefined && { label }),
      state: id ? "created" : (state as "submitting" | "unconfirmed"),
      ...(id && { handle: { ...handle, id } }),
      ...(task && { task }),
      ...(error && { error: Object.assign(new Error(error.message), error) }),
    },
  };
}

const WHOLE = { state: "string", model: "string", submittedAt: "number", revision: "number" } as const;
const ENTRY = { ...WHOLE, label: "string" } as const;
const HANDLE = { id: "string", model: "string", createdAt: "number", queryableUntil: "number" } as const;
const ERROR = { name: "string", message: "string", outcome: "string" } as const;
const TASK = {
  id: "string",
  model: "string",
  state: "string",
  rawStatus: "string",
  progress: "number",
  submittedAt: "number",
  startedAt: "number",
  finishedAt: "number",
  url: "string",
  urlSource: "string",
  expiresAt: "number",
  reason: "string",
} as const;
const STATES = ["queued", "running", "unknown", "result-pending", "succeeded", "failed"];

/** A task that can be shown; undefined for any other, which is polled anew. */
function taskIn(record: unknown): VideoTask | undefined {
  const task = fieldsIn(record, TASK);
  const isShown = task.id !== undefined && STATES.includes(task.state ?? "");
  return isShown && (task.state !== "succeeded" || task.url) ? (task as unknown as VideoTask) : undefined;
}

type FieldsOf<Types> = {
  readonly [Name in keyof Types]?: Types[Name] extends "string" ? string : number;
};

/** The fields of a record that have their types. */
function fieldsIn<Types extends Readonly<Record<string, "string" | "number">>>(
  record: unknown,
  types: Types,
): FieldsOf<Types> {
  const fits = ([name, value]: [string, unknown]) =>
    Object.hasOwn(types, name) && typeof value === types[name];
  return Object.fromEntries(Object.entries(isRecord(record) ? record : {}).filter(fits)) as FieldsOf<Types>;
}

function outcomeOf(error: Error): string | undefined {
  return isGatewayError(error) ? error.outcome : undefined;
}
