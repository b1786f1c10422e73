import { excerpt, findErrorFields, findReason, isRecord } from "../transport/error-response.js";
import { ResponseError } from "../types/errors.js";
import { toJSONText } from "../types/json-text.js";
import { videoModels } from "../types/media-models.js";
import type {
  FailedVideoTask,
  PendingVideoTask,
  SucceededVideoTask,
  VideoTask,
} from "../types/video-task.js";

const beta = videoModels["beta3.0-video"];

const PENDING: { readonly [status: string]: PendingVideoTask["state"] } = {
  "": "queued",
  not_start: "queued",
  queued: "queued",
  in_progress: "running",
};
const SUCCESS = ["success", "succeeded"];
const FAILURE = ["failure", "failed", "cancelled", "canceled", "expired"];

/**
 * Fields that may contain the URL of a video, in this order. The spec has the first and the fourth. Gateways differ.
 */
const URL_FIELDS = [
  "result_url",
  "url",
  "content.video_url",
  "data.output.video_url",
  "data.content.video_url",
];

/**
 * Fields that may contain the reason of a failure, in this order: a text, or an object with a `message` and a `code`.
 * The spec has the first. Gateways differ.
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
 * Parses the response of a video query, wrapped (`{code, message, data}`) or bare, into a snapshot (spec, Video task).
 * The status alone decides the state: `fail_reason` and a progress of 100 % do not. A success without a URL is
 * `result-pending`.
 *
 * @throws {ResponseError} when the response lacks a task, or its URL is not text
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
    /** Id of the task, for a response without one. */
    readonly id?: string | undefined;
    /** Model of the task, for a response without one. */
    readonly model?: string | undefined;
  } = {},
): VideoTask {
  const isEnveloped = isRecord(raw) && isRecord(raw.data) && typeof raw.status !== "string";
  const prefix = isEnveloped ? "data." : "";
  const task = isEnveloped ? (raw.data as Record<string, unknown>) : raw;
  if (!isRecord(task)) throw createMismatchError("data", raw);
  if (typeof task.status !== "string") throw createMismatchError(`${prefix}status`, raw);
  const { result_url: url } = task;
  if (url != null && typeof url !== "string") throw createMismatchError(`${prefix}result_url`, raw);

  const metadata = readMetadata(task, raw, known);
  const status = task.status.trim().toLowerCase();
  if (FAILURE.includes(status)) return createFailedTask(metadata, task);
  if (SUCCESS.includes(status)) return createSucceededTask(metadata, task, prefix);
  return { ...metadata, state: Object.hasOwn(PENDING, status) ? (PENDING[status] ?? "unknown") : "unknown" };
}

/** Fields that may contain the URL of the last frame, each beside a field of the video's URL. */
const FRAME_FIELDS = URL_FIELDS.map((path) => path.replace(/\w+$/, "last_frame_url"));

type Metadata = Omit<PendingVideoTask, "state">;

function readMetadata(
  task: Record<string, unknown>,
  raw: unknown,
  known: { readonly id?: string | undefined; readonly model?: string | undefined },
): Metadata {
  const model = known.model ?? readText(task.model);
  const optional = {
    model,
    progress: parseProgress(task.progress),
    submittedAt: parseTime(task.submit_time ?? task.created_at),
    startedAt: parseTime(task.start_time),
    finishedAt: parseTime(task.finish_time),
  };
  return {
    id: known.id ?? readText(task.task_id) ?? readText(task.id) ?? "",
    rawStatus: task.status as string,
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<Metadata>),
    raw,
  };
}

function createFailedTask(metadata: Metadata, task: Record<string, unknown>): FailedVideoTask {
  const { code, message } = findErrorFields(readPath(task, "data.output")) ?? {};
  const reason = findReason([
    ...REASON_FIELDS.map((path) => readPath(task, path)),
    // often only the code names a content filter
    [code, message].filter(Boolean).join(": "),
    isRecord(metadata.raw) && metadata.raw.message,
  ]);
  return { ...metadata, state: "failed", ...(reason !== undefined && { reason }) };
}

function createSucceededTask(
  metadata: Metadata,
  task: Record<string, unknown>,
  prefix: string,
): SucceededVideoTask | PendingVideoTask {
  const source = [...URL_FIELDS, "fail_reason"].find((path) => isURL(readPath(task, path)));
  if (source === undefined) return { ...metadata, state: "result-pending" };
  const isBeta = metadata.model
    ? Object.entries(videoModels).some(([id, row]) => id === metadata.model && row === beta)
    : readPath(task, "data.output") !== undefined;
  const { finishedAt } = metadata;
  const frame = FRAME_FIELDS.map((path) => readPath(task, path)).find(isURL) as string | undefined;
  return {
    ...metadata,
    state: "succeeded",
    url: readPath(task, source) as string,
    urlSource: `${prefix}${source}`,
    ...(frame && { lastFrameURL: frame }),
    ...(isBeta && finishedAt !== undefined && { expiresAt: finishedAt + beta.retentionHours * 3_600_000 }),
  };
}

/** Parses `"45%"` or 45 to 0.45. Returns undefined for other values. */
function parseProgress(value: unknown): number | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = String(value).trim().replace(/\s*%$/, "");
  const percent = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(percent) ? Math.min(1, Math.max(0, percent / 100)) : undefined;
}

/** Parses Unix seconds to milliseconds. The gateway sends 0 for "not yet". */
function parseTime(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function readPath(task: Record<string, unknown>, path: string): unknown {
  let value: unknown = task;
  for (const name of path.split(".")) value = isRecord(value) ? value[name] : undefined;
  return value;
}

function isURL(value: unknown): boolean {
  return typeof value === "string" && /^https?:\/\/\S+$/i.test(value.trim());
}

function readText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function createMismatchError(path: string, raw: unknown): ResponseError {
  const body = excerpt(toJSONText(raw) ?? "");
  return new ResponseError(`the response does not fit the spec at ${path}`, { path, body });
}
