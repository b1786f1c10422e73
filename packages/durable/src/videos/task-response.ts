import { createRefusals } from "../shared/create-refusals.js";

export const createWatchRefusal = createRefusals({
  too_many_tasks: [429, "{what} of your tasks are watched already; wait until one ends"],
  task_unknown: [404, "the gateway does not know this task", "task_not_found"],
  upstream_unreadable: [502, "the gateway's responses show no task; query it yourself"],
  watch_timeout: [504, "the task was not over after 24 hours"],
});

/** A refusal as clients receive it. `error` is the JSON body, in the gateway's error format. */
export type FailedResponse = {
  readonly status: number;
  readonly error: string;
};

/** A task from a response of the gateway. */
export type ParsedTask = {
  /** The gateway's JSON, serialized again. */
  readonly envelope: string;
  /** True for a final status. */
  readonly isFinal: boolean;
  /** True for a failure, and for a success with the URL of a file. */
  readonly hasEnded: boolean;
};

/** Result of one poll. A poll without a task contains the refusal that clients receive. */
export type PollResult =
  | ({ readonly type: "task" } & ParsedTask)
  /** `absent`: the gateway does not know the task. This is normal right after its creation. */
  | ({ readonly type: "absent" | "failed"; readonly retryAfterMs: number } & FailedResponse);

/** Maximum size of a stored envelope, in characters. A typical envelope has about 1,000. */
export const MAX_ENVELOPE_CHARACTERS = 256 * 1024;

const FINAL_STATUSES = ["success", "succeeded", "failure", "failed", "cancelled", "canceled", "expired"];
const SUCCESS_STATUSES: readonly unknown[] = ["success", "succeeded"];
/** A field that can contain the URL of a video (spec, Video task). */
const FILE_URL = /"(?:result_url|url|video_url|fail_reason)":"https?:/;

/** Failures without a final state. */
export const ENDED_WITHOUT_STATE = {
  absent: createFailure("task_unknown"),
  unreadable: createFailure("upstream_unreadable"),
  late: createFailure("watch_timeout"),
};

/**
 * Reads a task from a response or a receipt; undefined if it shows no task or is too large. An unknown status is not
 * final.
 */
export function parseTask(response: unknown): ParsedTask | undefined {
  const json = { ...(response as Record<string, unknown> | undefined) };
  const status = readStatus(json);
  const code = json["code"] || "success";
  if (status === undefined || String(code).toLowerCase() !== "success") return undefined;
  const envelope = JSON.stringify(json);
  if (envelope.length > MAX_ENVELOPE_CHARACTERS) return undefined;
  const isFinal = FINAL_STATUSES.includes(status);
  return {
    envelope,
    isFinal,
    hasEnded: isFinal && (!SUCCESS_STATUSES.includes(status) || FILE_URL.test(envelope)),
  };
}

/** Returns true for a task that has succeeded, bare or in its envelope. */
export function isSucceeded(task: unknown): boolean {
  return SUCCESS_STATUSES.includes(readStatus({ ...(task as Record<string, unknown> | null) }));
}

/** Returns an envelope without its trace ids, which change with each response. */
export function removeTraceIds(envelope: string | undefined): string | undefined {
  return (
    envelope &&
    JSON.stringify(JSON.parse(envelope), (key, value) =>
      /^(?:request|trace)_?id$/i.test(key) ? undefined : value,
    )
  );
}

/** Returns the status of a task, bare or in its envelope, in lower case. */
function readStatus(json: Readonly<Record<string, unknown>>): string | undefined {
  const isBare = typeof json["status"] === "string";
  const { status } = { ...((isBare ? json : json["data"]) as { status?: unknown } | undefined) };
  return typeof status === "string" ? status.trim().toLowerCase() : undefined;
}

function createFailure(reason: Parameters<typeof createWatchRefusal>[0]): FailedResponse {
  const refusal = createWatchRefusal(reason);
  return { status: refusal.status, error: JSON.stringify(refusal) };
}
