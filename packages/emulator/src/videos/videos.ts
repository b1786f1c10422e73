import { checkRequest } from "@sluice/core/schemas";
import type { AssetStatus } from "../assets/assets.js";
import { type FileEndpointOptions, RESULT_LIFETIME_MS, type Reference } from "../files/files.js";
import { getFrameSize, type VideoDescription } from "../files/media.js";
import { checkBody } from "../server/check.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { respondJSON } from "../server/failure-mode.js";
import { acceptLocal, refuseUnreachable } from "../server/fetch-media.js";
import { hash } from "../server/hash.js";
import { createJSON, createRateLimited, createUnknownId, type HandlerResponse } from "../server/http.js";
import { createCounter } from "../server/state.js";
import { computeProgress, planTimeline } from "../server/timeline.js";
import { readVideoJob, type VideoJob, type VideoRequestBody } from "./job.js";
import { findFirstImage, readURLs, refuseReferences } from "./references.js";
import { getForm, type Task, toResult, type View } from "./result.js";

interface VideosOptions extends FileEndpointOptions {
  /** Milliseconds of a task that is not slow. Undefined for one to two minutes. */
  readonly durationMs: number | undefined;
  /** Returns the status of an asset, or undefined for an unknown id. */
  readonly getAssetStatus: (id: string) => AssetStatus | undefined;
}

/** A stored task with the counts of its queries. */
interface StoredTask extends Task {
  readonly video: VideoDescription;
  /** Number of all queries. */
  queries: number;
  /** Number of queries after its success. */
  successQueries: number;
}

const MAX_TASKS = 2000;
/** Number of queries that a fault without a number concerns. */
const USUAL_QUERIES = 2;

/** Creates `POST /v1/video/generations` and the query of a task, for the last 2,000 tasks of the last 24 hours. */
export function createVideos({
  state,
  clock,
  speed,
  refuse,
  takeFailure,
  files,
  fetchMedia,
  durationMs,
  getAssetStatus,
}: VideosOptions) {
  const tasks = createExpiringMap<StoredTask>({
    clock,
    maxEntries: MAX_TASKS,
    lifetimeMs: RESULT_LIFETIME_MS,
    state,
    name: "videos",
  });
  const check = acceptLocal(checkRequest, fetchMedia);
  const count = createCounter(state, "videos");
  return { handleCreate, handleQuery, clear };

  async function handleCreate(exchange: Exchange): Promise<HandlerResponse> {
    const checked = checkBody<VideoRequestBody>(exchange, check, "video");
    if ("refusal" in checked) return checked.refusal;
    const job = readVideoJob(checked.body, exchange.scripted?.faults);
    const refusal =
      refuseReferences(checked.body, getAssetStatus) ??
      refuse(job.faults, exchange) ??
      (await refuseUnreachable(readURLs(checked.body), fetchMedia));
    if (refusal) return refusal;

    const { id } = storeTask(job, exchange.text, files.describeReference(findFirstImage(checked.body)));
    const receipt = {
      id,
      task_id: id,
      object: "video",
      model: job.model,
      status: getForm(job).receipt,
      progress: 0,
      created_at: Math.floor(clock.now() / 1000),
    };
    return respondJSON(receipt, takeFailure(job.faults, exchange), exchange.request.signal);
  }

  function storeTask(job: VideoJob, text: string, reference: Reference): StoredTask {
    const digest = hash(text);
    const number = count.next();
    const id = `task-${digest}-${number}`;
    const seed = job.seed < 0 ? id : hash(`${job.faults.text} ${job.seed}`);
    const task = {
      id,
      job,
      video: {
        ...getFrameSize(job.ratio),
        prompt: job.faults.text,
        seed,
        index: 0,
        ...reference,
        seconds: job.duration,
      },
      timeline: planTimeline(clock.now(), digest, speed, job.faults.names.has("slow"), durationMs),
      repeatsURL: number % 2 === 1,
      queries: 0,
      successQueries: 0,
    };
    tasks.set(task.id, task);
    return task;
  }

  function handleQuery({ param: id, origin }: Exchange): HandlerResponse {
    const task = tasks.get(id);
    if (!task) return createUnknownId(`There is no task ${id}.`, "task_not_found");
    const { faults } = task.job;
    const nth = ++task.queries;
    const isAmongFirst = (fault: "late" | "busy" | "unknown") =>
      faults.names.has(fault) && nth <= (faults.numbers.get(fault) ?? USUAL_QUERIES);
    if (isAmongFirst("late")) return createUnknownId(`There is no task ${id}.`, "task_not_found");
    if (isAmongFirst("busy")) return createRateLimited(1);
    const view = toView(task, isAmongFirst("unknown"), origin);
    return createJSON(toResult(task, view));
  }

  function toView(task: StoredTask, hasUnknownStatus: boolean, origin: string): View {
    const { faults, returnsLastFrame } = task.job;
    const progress = computeProgress(task.timeline, clock.now());
    const failed = faults.names.has("fail");
    const unfinished = { hasUnknownStatus, failed, url: undefined, lastFrameURL: undefined };
    // an unknown status must not come with signs of an end
    if (hasUnknownStatus) return { ...unfinished, phase: "running", share: Math.min(progress.share, 0.99) };
    if (progress.phase !== "finished" || failed || hasNoURL(task)) return { ...progress, ...unfinished };

    const at = { origin, expiresAt: task.timeline.finishedAt + RESULT_LIFETIME_MS };
    const url = files.publish(`${task.id}.mp4`, task.video, at);
    const { seconds: _, ...frame } = task.video;
    const lastFrameURL = returnsLastFrame
      ? files.publish(`${task.id}-last.png`, { ...frame, isLastFrame: true }, at)
      : undefined;
    return { ...progress, ...unfinished, url, lastFrameURL };
  }

  function clear() {
    tasks.clear();
    count.clear();
  }
}

function hasNoURL(task: StoredTask): boolean {
  const { names, numbers } = task.job.faults;
  return names.has("no-url") && ++task.successQueries <= (numbers.get("no-url") ?? Infinity);
}
