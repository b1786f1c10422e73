import { isGatewayError, type VideoTask, type VideoTaskHandle } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import type { VideoTaskEntry } from "./state.js";

/** An entry with the number of its changes. The copy with the higher number is newer. */
export interface EntryCopy {
  readonly entry: VideoTaskEntry;
  readonly revision: number;
}

/** Creates the record of an entry. Without an entry returns undefined, which removes the record. */
export function toRecord(entry: VideoTaskEntry | undefined, revision: number | undefined): unknown {
  if (!entry) return undefined;
  const { error, task, ...rest } = entry;
  return {
    ...rest,
    revision,
    // the gateway's response is not needed again, and may be long
    ...(task && { task: { ...task, raw: undefined } }),
    ...(error && { error: { name: error.name, message: error.message, billing: readBilling(error) } }),
  };
}

/**
 * Parses an entry from a record. A storage may hold any value, so fields of unexpected types are omitted. A record without
 * a task id is an entry only if all required fields have their types.
 */
export function parseCopy(key: string, record: unknown): EntryCopy | undefined {
  const { state, model, submittedAt, revision, label, fingerprint, ...rest } = pickFields<
    VideoTaskEntry & EntryCopy
  >(record);
  const { handle, task, error } = (isRecord(record) ? record : {}) as Record<string, unknown>;
  const handleCopy = pickFields<VideoTaskHandle>(handle);
  const taskCopy = pickFields<VideoTask & { url: string }>(task);
  const isValid =
    taskCopy.id && STATES.test(taskCopy.state ?? "") && (taskCopy.state !== "succeeded" || taskCopy.url);
  const isComplete =
    rest.key === key && model !== undefined && submittedAt !== undefined && revision !== undefined;
  if (!handleCopy.id && !(isComplete && (state === "submitting" || state === "unconfirmed")))
    return undefined;
  const entry = {
    key,
    model: model ?? "",
    submittedAt: submittedAt ?? 0,
    ...(label !== undefined && { label }),
    // the key of the entry is sent as a header, so that only valid header text is accepted
    ...(fingerprint !== undefined && /^[\w-]{1,255}$/.test(key) && { fingerprint }),
    state: handleCopy.id ? "created" : state,
    ...(handleCopy.id && { handle: handleCopy }),
    ...(isValid && { task: taskCopy }),
    ...(isRecord(error) && { error: Object.assign(new Error(), pickFields(error)) }),
  };
  // a fraction or a negative number can't count changes
  const isCount = Number.isSafeInteger(revision) && Number(revision) >= 0;
  return { entry: entry as VideoTaskEntry, revision: isCount ? (revision as number) : 0 };
}

const STATES = /^(queued|running|unknown|result-pending|succeeded|failed)$/;
const NUMBER_FIELDS = /At$|Until$|^(progress|revision)$/;

/** Picks the fields of a record that have the right type: times and counts are numbers, all others are text. */
function pickFields<Fields>(record: unknown): Partial<Fields> {
  const fits = ([name, value]: [string, unknown]) =>
    typeof value === (NUMBER_FIELDS.test(name) ? "number" : "string");
  return Object.fromEntries(Object.entries(isRecord(record) ? record : {}).filter(fits)) as Partial<Fields>;
}

function readBilling(error: Error): string | undefined {
  return isGatewayError(error) ? error.billing : undefined;
}
