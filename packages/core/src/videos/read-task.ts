import { errorFieldsOf, excerpt, isRecord, reasonIn } from "../transport/error-response.js";
import { jsonOf, ResponseError } from "../vocabulary/errors.js";
import { videoModels } from "../vocabulary/media-models.js";
import type {
  FailedVideoTask,
  PendingVideoTask,
  SucceededVideoTask,
  VideoTask,
} from "../vocabulary/video-task.js";

const beta = videoModels["beta3.0-video"];

const PENDING: { readonly [status: string]: PendingVideoTask["state"] } = {
  "": "queued",
  not_start: "queued",
  queued: "queued",
  in_progress: "running",
};
const SUCCESS = ["success", "succeeded"];
const FAILURE = ["failure", "failed", "cancelled", "canceled", "expired"];

/** Fields that may have the URL of a video, in this order. The spec has the first and the fourth; gateways differ. */
const URL_FIELDS = [
  "result_url",
  "url",
  "content.video_url",
  "data.output.video_url",
  "data.content.video_url",
];

/**
 * Fields that may have the reason of a failure, in this order: a text, or an object with a `message` and a `code`. The
 * spec has the first; gateways differ.
 */
const REASON_FIELDS = [
  "fail_reason",
  "error",
  "task_status_msg",
  "message",
  "data.error",
  "data.task_status_msg",
  "data.message",
  "data.data.task_status_msg",
];

/**
 * Reads the answer of a video query, enveloped (`{code, message, data}`) or bare, into a snapshot (spec, Video task).
 * Only the status decides, not `fail_reason` or 100 %. A success without a URL is `result-pending`.
 *
 * @throws {ResponseError} when the answer has no task, or a URL that is not text
 * @example
 * ```ts
 * const client = createClient({
 *   baseURL: "https://gateway.example.com",
 *   gateway: { parseVideoTask: (raw, known) => parseVideoTask(unwrapOurs(raw), known) },
 * });
 * ```
 */
export function parseVideoTask(
  raw: unknown,
  known: {
    /** Id of the query: used where the answer has none. */
    readonly id?: string | undefined;
    /** Model of the task: used where the answer has none. */
    readonly model?: string | undefined;
  } = {},
): VideoTask {
  const isEnveloped = isRecord(raw) && isRecord(raw.data) && typeof raw.status !== "string";
  const at = isEnveloped ? "data." : "";
  const task = isEnveloped ? (raw.data as Record<string, unknown>) : raw;
  if (!isRecord(task)) throw misfit("data", raw);
  if (typeof task.status !== "string") throw misfit(`${at}status`, raw);
  const { result_url: url } = task;
  if (url != null && typeof url !== "string") throw misfit(`${at}result_url`, raw);

  const facts = factsOf(task, raw, known);
  const status = task.status.trim().toLowerCase();
  if (FAILURE.includes(status)) return failed(facts, task);
  if (SUCCESS.includes(status)) return succeeded(facts, task, at);
  return { ...facts, state: Object.hasOwn(PENDING, status) ? (PENDING[status] ?? "unknown") : "unknown" };
}

/** Fields that may have the URL of the last frame: they stand beside those of the video. */
const FRAME_FIELDS = URL_FIELDS.map((path) => path.replace(/\w+$/, "last_frame_url"));

type Facts = Omit<PendingVideoTask, "state">;

function factsOf(
  task: Record<string, unknown>,
  raw: unknown,
  known: { readonly id?: string | undefined; readonly model?: string | undefined },
): Facts {
  const model = known.model ?? textOf(task.model);
  const optional = {
    model,
    progress: progressOf(task.progress),
    submittedAt: timeOf(task.submit_time ?? task.created_at),
    startedAt: timeOf(task.start_time),
    finishedAt: timeOf(task.finish_time),
  };
  return {
    id: known.id ?? textOf(task.task_id) ?? textOf(task.id) ?? "",
    rawStatus: task.status as string,
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<Facts>),
    raw,
  };
}

function failed(facts: Facts, task: Record<string, unknown>): FailedVideoTask {
  const { code, message } = errorFieldsOf(fieldAt(task, "data.output")) ?? {};
  const reason = reasonIn([
    ...REASON_FIELDS.map((path) => fieldAt(task, path)),
    // the code is often all that names a content filter
    [code, message].filter(Boolean).join(": "),
    isRecord(facts.raw) && facts.raw.message,
  ]);
  return { ...facts, state: "failed", ...(reason !== undefined && { reason }) };
}

function succeeded(
  facts: Facts,
  task: Record<string, unknown>,
  at: string,
): SucceededVideoTask | PendingVideoTask {
  const source = [...URL_FIELDS, "fail_reason"].find((path) => isURL(fieldAt(task, path)));
  if (source === undefined) return { ...facts, state: "result-pending" };
  const isBeta = facts.model
    ? Object.entries(videoModels).some(([id, row]) => id === facts.model && row === beta)
    : fieldAt(task, "data.output") !== undefined;
  const { finishedAt } = facts;
  const frame = FRAME_FIELDS.map((path) => fieldAt(task, path)).find(isURL) as string | undefined;
  return {
    ...facts,
    state: "succeeded",
    url: fieldAt(task, source) as string,
    urlSource: `${at}${source}`,
    ...(frame && { lastFrameURL: frame }),
    ...(isBeta && finishedAt !== undefined && { expiresAt: finishedAt + beta.retentionHours * 3_600_000 }),
  };
}

/** Reads `"45%"`, or 45, as 0.45. A value that is not a number is undefined. */
function progressOf(value: unknown): number | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value).trim().replace(/\s*%$/, "");
  const percent = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(percent) ? Math.min(1, Math.max(0, percent / 100)) : undefined;
}

/** Reads Unix seconds as milliseconds. The gateway sends 0 for "not yet". */
function timeOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function fieldAt(task: Record<string, unknown>, path: string): unknown {
  let value: unknown = task;
  for (const name of path.split(".")) value = isRecord(value) ? value[name] : undefined;
  return value;
}

function isURL(value: unknown): boolean {
  return typeof value === "string" && /^https?:\/\/\S+$/i.test(value.trim());
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function misfit(path: string, raw: unknown): ResponseError {
  const body = excerpt(jsonOf(raw) ?? "");
  return new ResponseError(`the answer does not fit the spec at ${path}`, { path, body });
}
