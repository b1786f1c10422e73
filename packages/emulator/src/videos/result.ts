import { hash } from "../server/hash.js";
import type { Progress, Timeline } from "../server/timeline.js";
import type { VideoFamily, VideoJob } from "./job.js";

/** A video task. */
export interface Task {
  readonly id: string;
  readonly job: VideoJob;
  readonly timeline: Timeline;
  /** True if a success repeats its URL in `fail_reason`, as the spec shows for some tasks. */
  readonly repeatsURL: boolean;
}

/** State of a task at the time of a query. */
export interface View extends Progress {
  /** True if the status is a word that the spec does not list. */
  readonly hasUnknownStatus: boolean;
  readonly failed: boolean;
  /** URL of the finished video. */
  readonly url: string | undefined;
  readonly lastFrameURL: string | undefined;
}

const FPS = 24;
const FAILURE = {
  code: "content_rejected",
  message: "The video was not made: the content was rejected by the upstream check.",
};

const statusWords = {
  upper: {
    submitted: "NOT_START",
    queued: "QUEUED",
    running: "IN_PROGRESS",
    finished: "SUCCESS",
    failed: "FAILURE",
    unknown: "POST_PROCESSING",
  },
  lower: {
    submitted: "queued",
    queued: "queued",
    running: "running",
    finished: "succeeded",
    failed: "failed",
    unknown: "post_processing",
  },
  upstream: {
    submitted: "PENDING",
    queued: "PENDING",
    running: "RUNNING",
    finished: "SUCCEEDED",
    failed: "FAILED",
    unknown: "RUNNING",
  },
} as const;

/** Form of the responses about a task. */
interface TaskForm {
  /** Status of the receipt. */
  readonly receipt: string;
  readonly words: keyof typeof statusWords;
  /** Creates the upstream's own result, `data.data`. */
  readonly toUpstream: (task: Task, view: View) => object;
  /** True if the fault `flat` removes the envelope. */
  readonly canBeBare?: boolean;
}

const defaultForm: TaskForm = { receipt: "queued", words: "upper", toUpstream: () => ({}) };
const gamma2: TaskForm = { receipt: "", words: "lower", toUpstream: toBareResult, canBeBare: true };

/** Forms of the families whose tasks differ from the default (spec, Video task). */
const forms: { readonly [Family in VideoFamily]?: TaskForm } = {
  beta: { ...defaultForm, toUpstream: toBetaResult },
  "2-0": gamma2,
  fast: gamma2,
};

/** Returns the form of the responses about a task. */
export function getForm({ family }: VideoJob): TaskForm {
  return forms[family] ?? defaultForm;
}

/**
 * Creates a query result in its envelope. The result is bare if the prompt has the fault `flat` and the model supports
 * it.
 */
export function toResult(task: Task, view: View) {
  const isBare = getForm(task.job).canBeBare && task.job.faults.names.has("flat");
  return isBare ? toBareResult(task, view) : toEnvelope(task, view);
}

function toEnvelope(task: Task, view: View) {
  const { id, job, timeline, repeatsURL } = task;
  const form = getForm(job);
  const isFinal = view.phase === "finished";
  const repeated = repeatsURL && view.url !== undefined ? view.url : "";
  const data = {
    task_id: id,
    action: job.action,
    status: getStatusWord(view, form.words),
    fail_reason: isFinal && view.failed ? FAILURE.message : repeated,
    ...(isFinal ? { result_url: view.url ?? null } : {}),
    submit_time: toSeconds(timeline.submittedAt),
    start_time: isStarted(view) ? toSeconds(timeline.startedAt) : 0,
    finish_time: isFinal ? toSeconds(timeline.finishedAt) : 0,
    progress: `${Math.floor(view.share * 100)}%`,
    request_id: `req_${hash(`${id} query`)}`,
    data: form.toUpstream(task, view),
  };
  return { code: "success", message: "", data };
}

/** Creates a query result without an envelope. The spec does not show this form: it is an assumption (wire, 3.2). */
function toBareResult({ id, job, timeline }: Task, view: View) {
  const isFinal = view.phase === "finished";
  const tokens = job.duration * FPS * 900;
  const content = view.url !== undefined && {
    video_url: view.url,
    ...(view.lastFrameURL === undefined ? {} : { last_frame_url: view.lastFrameURL }),
  };
  return {
    id,
    model: job.model,
    status: getStatusWord(view, "lower"),
    ...(content ? { content } : {}),
    ...(isFinal && view.failed ? { error: FAILURE } : {}),
    ...(isFinal && !view.failed ? { usage: { completion_tokens: tokens, total_tokens: tokens } } : {}),
    seed: job.seed,
    resolution: job.resolution,
    ratio: job.ratio,
    duration: job.duration,
    framespersecond: FPS,
    created_at: toSeconds(timeline.submittedAt),
    updated_at: toSeconds(isFinal ? timeline.finishedAt : timeline.submittedAt),
  };
}

function toBetaResult({ id, job, timeline }: Task, view: View) {
  const succeeded = view.phase === "finished" && !view.failed;
  return {
    output: {
      task_id: hash(`${id} upstream`) + hash(`${id} upstream task`),
      task_status: getStatusWord(view, "upstream"),
      submit_time: formatTime(timeline.submittedAt),
      ...(isStarted(view) ? { scheduled_time: formatTime(timeline.startedAt) } : {}),
      ...(succeeded ? { end_time: formatTime(timeline.finishedAt), orig_prompt: job.prompt } : {}),
      ...(view.url === undefined ? {} : { video_url: view.url }),
    },
    request_id: hash(`${id} upstream request`),
    ...(succeeded ? { usage: toUsage(job) } : {}),
  };
}

function toUsage(job: VideoJob) {
  return {
    SR: Number.parseInt(job.resolution, 10),
    duration: job.duration,
    fps: FPS,
    input_video_duration: job.inputDuration,
    output_video_duration: job.duration,
    ratio: job.ratio,
    video_count: 1,
  };
}

function getStatusWord({ phase, failed, hasUnknownStatus }: View, style: keyof typeof statusWords): string {
  const words = statusWords[style];
  if (hasUnknownStatus) return words.unknown;
  return phase === "finished" && failed ? words.failed : words[phase];
}

function isStarted({ phase }: View): boolean {
  return phase === "running" || phase === "finished";
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Formats a time as `2026-03-14 09:26:53.589`. */
function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", "");
}
