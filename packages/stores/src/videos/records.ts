import { isGatewayError, type VideoTask, type VideoTaskHandle } from "@sluice/core";
import { isRecord } from "@sluice/core/internal";
import type { VideoTaskEntry } from "./state.js";

/** An entry with the number of its changes: the copy with the higher number is newer. */
export interface EntryCopy {
  readonly entry: VideoTaskEntry;
  readonly revision: number;
}

/** Makes the record of an entry; undefined, which removes the record, for no entry. */
export function recordOf(entry: VideoTaskEntry | undefined, revision: number | undefined): unknown {
  if (!entry) return undefined;
  const { error, task, ...rest } = entry;
  return {
    ...rest,
    revision,
    // the gateway's answer is not needed again, and may be long
    ...(task && { task: { ...task, raw: undefined } }),
    ...(error && { error: { name: error.name, message: error.message, billing: billingOf(error) } }),
  };
}

/**
 * Reads an entry from a record. A storage may hold any value, so fields of unexpected types are left out. A record
 * without a task id is an entry only if all its other fields have their types.
 */
export function copyIn(key: string, record: unknown): EntryCopy | undefined {
  const { state, model, submittedAt, revision, label, fingerprint, ...rest } = fieldsOf<
    VideoTaskEntry & EntryCopy
  >(record);
  const { handle, task, error } = (isRecord(record) ? record : {}) as Record<string, unknown>;
  const known = fieldsOf<VideoTaskHandle>(handle);
  const seen = fieldsOf<VideoTask & { url: string }>(task);
  const isShown = seen.id && STATES.test(seen.state ?? "") && (seen.state !== "succeeded" || seen.url);
  const isWhole =
    rest.key === key && model !== undefined && submittedAt !== undefined && revision !== undefined;
  if (!known.id && !(isWhole && (state === "submitting" || state === "unconfirmed"))) return undefined;
  const entry = {
    key,
    model: model ?? "",
    submittedAt: submittedAt ?? 0,
    ...(label !== undefined && { label }),
    // the key of the entry is sent as a header
    ...(fingerprint !== undefined && /^[\w-]{1,255}$/.test(key) && { fingerprint }),
    state: known.id ? "created" : state,
    ...(known.id && { handle: known }),
    ...(isShown && { task: seen }),
    ...(isRecord(error) && { error: Object.assign(new Error(), fieldsOf(error)) }),
  };
  // any other number could not be counted up, or would be older than every copy
  const isCount = Number.isSafeInteger(revision) && Number(revision) >= 0;
  return { entry: entry as VideoTaskEntry, revision: isCount ? (revision as number) : 0 };
}

const STATES = /^(queued|running|unknown|result-pending|succeeded|failed)$/;
const NUMBERS = /At$|Until$|^(progress|revision)$/;

/** Fields of a record with the right types: times and counts are numbers, all others text. */
function fieldsOf<Kept>(record: unknown): Partial<Kept> {
  const fits = ([name, value]: [string, unknown]) =>
    typeof value === (NUMBERS.test(name) ? "number" : "string");
  return Object.fromEntries(Object.entries(isRecord(record) ? record : {}).filter(fits)) as Partial<Kept>;
}

function billingOf(error: Error): string | undefined {
  return isGatewayError(error) ? error.billing : undefined;
}
