import { hash } from "../server/hash.js";
import type { Progress, Timeline } from "../server/timeline.js";
import type { VideoFamily, VideoJob } from "./job.js";

/** A video task. */
export interface Task {
  readonly id: string;
  readonly job: VideoJob;
  readonly timeline: Timeline;
  /** True if a success repeats its URL in `fail_reason`, as some do. */
  readonly repeatsURL: boolean;
}

/** State of a task at the time of one query. */
export interface View extends Progress {
  /** True if the status is a word that the spec does not have. */
  readonly oddStatus: boolean;
  readonly failed: boolean;
  /** URL of the finished video; undefined before, and if there is none. */
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
    odd: "POST_PROCESSING",
  },
  lower: {
    submitted: "queued",
    queued: "queued",
    running: "running",
    finished: "succeeded",
    failed: "failed",
    odd: "post_processing",
  },
  upstream: {
    submitted: "PENDING",
    queued: "PENDING",
    running: "RUNNING",
    finished: "SUCCEEDED",
    failed: "FAILED",
    odd: "RUNNING",
  },
} as const;

/** Form of the answers about a task. */
interface TaskForm {
  /** Status of the receipt. */
  readonly receipt: string;
  readonly words: keyof typeof statusWords;
  /** Makes the upstream's own answer, `data.data`. */
  readonly upstreamOf: (task: Task, view: View) => object;
  /** True where the fault `flat` leaves out the envelope. */
  readonly canBeBare?: boolean;
}

const usual: TaskForm = { receipt: "queued", words: "upper", upstreamOf: () => ({}) };
const gamma2: TaskForm = { receipt: "", words: "lower", upstreamOf: bareOf, canBeBare: true };

/** The forms of the families whose tasks differ from the usual ones (spec, Video task). */
const forms: { readonly [Family in VideoFamily]?: TaskForm } = {
  beta: { ...usual, upstreamOf: betaOf },
  "2-0": gamma2,
  fast: gamma2,
};

/** Returns the form of the answers about a task. */
export function formOf({ family }: VideoJob): TaskForm {
  return forms[family] ?? usual;
}

/** Makes a query result: in its envelope, or bare where the fault `flat` is in the prompt and the model has that form. */
export function resultOf(task: Task, view: View) {
  const isBare = formOf(task.job).canBeBare && task.job.faults.names.has("flat");
  return isBare ? bareOf(task, view) : envelopeOf(task, view);
}

function envelopeOf(task: Task, view: View) {
  const { id, job, timeline, repeatsURL } = task;
  const form = formOf(job);
  const isFinal = view.phase === "finished";
  const repeated = repeatsURL && view.url !== undefined ? view.url : "";
  const data = {
    task_id: id,
    action: job.action,
    status: wordOf(view, form.words),
    fail_reason: isFinal && view.failed ? FAILURE.message : repeated,
    ...(isFinal ? { result_url: view.url ?? null } : {}),
    submit_time: seconds(timeline.submittedAt),
    start_time: isStarted(view) ? seconds(timeline.startedAt) : 0,
    finish_time: isFinal ? seconds(timeline.finishedAt) : 0,
    progress: `${Math.floor(view.share * 100)}%`,
    request_id: `req_${hash(`${id} query`)}`,
    data: form.upstreamOf(task, view),
  };
  return { code: "success", message: "", data };
}

/** Makes a query result without an envelope. The spec does not show it: it is an assumption (wire, 3.2). */
function bareOf({ id, job, timeline }: Task, view: View) {
  const isFinal = view.phase === "finished";
  const tokens = job.duration * FPS * 900;
  const content = view.url !== undefined && {
    video_url: view.url,
    ...(view.lastFrameURL === undefined ? {} : { last_frame_url: view.lastFrameURL }),
  };
  return {
    id,
    model: job.model,
    status: wordOf(view, "lower"),
    ...(content ? { content } : {}),
    ...(isFinal && view.failed ? { error: FAILURE } : {}),
    ...(isFinal && !view.failed ? { usage: { completion_tokens: tokens, total_tokens: tokens } } : {}),
    seed: job.seed,
    resolution: job.resolution,
    ratio: job.ratio,
    duration: job.duration,
    framespersecond: FPS,
    created_at: seconds(timeline.submittedAt),
    updated_at: seconds(isFinal ? timeline.finishedAt : timeline.submittedAt),
  };
}

function betaOf({ id, job, timeline }: Task, view: View) {
  const succeeded = view.phase === "finished" && !view.failed;
  return {
    output: {
      task_id: hash(`${id} upstream`) + hash(`${id} upstream task`),
      task_status: wordOf(view, "upstream"),
      submit_time: stamp(timeline.submittedAt),
      ...(isStarted(view) ? { scheduled_time: stamp(timeline.startedAt) } : {}),
      ...(succeeded ? { end_time: stamp(timeline.finishedAt), orig_prompt: job.prompt } : {}),
      ...(view.url === undefined ? {} : { video_url: view.url }),
    },
    request_id: hash(`${id} upstream request`),
    ...(succeeded ? { usage: usageOf(job) } : {}),
  };
}

function usageOf(job: VideoJob) {
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

function wordOf({ phase, failed, oddStatus }: View, style: keyof typeof statusWords): string {
  const words = statusWords[style];
  if (oddStatus) return words.odd;
  return phase === "finished" && failed ? words.failed : words[phase];
}

function isStarted({ phase }: View): boolean {
  return phase === "running" || phase === "finished";
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Formats a time as `2026-03-14 09:26:53.589`. */
function stamp(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", "");
}
