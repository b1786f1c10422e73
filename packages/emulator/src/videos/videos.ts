import { checkRequest } from "@sluice/core/schemas";
import type { AssetStatus } from "../assets/assets.js";
import type { EmulatorClock } from "../base/clock.js";
import type { Files } from "../files/files.js";
import { frameSizeOf, type VideoDescription } from "../files/media.js";
import { colorsOf } from "../files/reference.js";
import { checkBody } from "../server/check.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { answerJSON } from "../server/failure-mode.js";
import { hash } from "../server/hash.js";
import { type Answer, json, rateLimited, unknownThing } from "../server/http.js";
import { acceptLocal, type FetchMedia, refuseUnreachable } from "../server/reach.js";
import type { FailureOf, Refuse } from "../server/refusals.js";
import { createCount, type EmulatorState } from "../server/state.js";
import { planTask, progressAt } from "../server/timeline.js";
import { readVideoJob, type VideoJob, type VideoRequestBody } from "./job.js";
import { addressesOf, firstImageOf, refuseReferences } from "./references.js";
import { formOf, resultOf, type Task, type View } from "./result.js";

/** Parts that the video endpoints use. */
export interface VideosOptions {
  readonly state: EmulatorState | undefined;
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly failureOf: FailureOf;
  readonly files: Files;
  readonly fetchMedia: FetchMedia | undefined;
  /** Milliseconds of a task that is not slow; undefined for one to two minutes. */
  readonly usualMs: number | undefined;
  /** Returns the status of an asset; undefined if there is none. */
  readonly assetStatus: (id: string) => AssetStatus | undefined;
}

/** A task with the counts of its queries. */
interface KeptTask extends Task {
  readonly video: VideoDescription;
  /** Number of all queries. */
  queries: number;
  /** Number of queries after its success. */
  successQueries: number;
}

const DAY_MS = 24 * 3_600_000;
const MOST = 2000;
const USUAL_QUERIES = 2;

/** Creates `POST /v1/video/generations` and the query of a task: for 24 hours, and for the last 2,000 tasks. */
export function createVideos({
  state,
  clock,
  speed,
  refuse,
  failureOf,
  files,
  fetchMedia,
  usualMs,
  assetStatus,
}: VideosOptions) {
  const tasks = createExpiringMap<KeptTask>({
    clock,
    most: MOST,
    lifetimeMs: DAY_MS,
    state,
    name: "videos",
  });
  const check = acceptLocal(checkRequest, fetchMedia);
  const count = createCount(state, "videos");
  return { create, query, clear };

  async function create(exchange: Exchange): Promise<Answer> {
    const checked = checkBody<VideoRequestBody>(exchange, check, "video");
    if ("refusal" in checked) return checked.refusal;
    const job = readVideoJob(checked.body, exchange.scripted?.faults);
    const refusal =
      refuseReferences(checked.body, assetStatus) ??
      refuse(job.faults, exchange) ??
      (await refuseUnreachable(addressesOf(checked.body), fetchMedia, exchange));
    if (refusal) return refusal;

    const { id } = keep(job, exchange.text, await referenceOf(checked.body));
    const receipt = {
      id,
      task_id: id,
      object: "video",
      model: job.model,
      status: formOf(job).receipt,
      progress: 0,
      created_at: Math.floor(clock.now() / 1000),
    };
    return answerJSON(receipt, failureOf(job.faults, exchange), exchange.request.signal);
  }

  /** Returns the fields that the first image of a request decides; of an image from elsewhere, its colors alone. */
  async function referenceOf(request: VideoRequestBody): Promise<Partial<VideoDescription>> {
    const url = firstImageOf(request);
    if (url === undefined) return {};
    const own = files.imageAt(url);
    if (!own) return { colors: await colorsOf(url) };
    const { seed, index, colors } = own;
    return { base: `${own.prompt} ${own.base ?? ""}`, seed, index, ...(colors ? { colors } : {}) };
  }

  function keep(job: VideoJob, text: string, reference: Partial<VideoDescription>): KeptTask {
    const digest = hash(text);
    const number = count.next();
    const id = `task-${digest}-${number}`;
    const seed = job.seed < 0 ? id : hash(`${job.faults.text} ${job.seed}`);
    const task = {
      id,
      job,
      video: {
        ...frameSizeOf(job.ratio),
        prompt: job.faults.text,
        seed,
        index: 0,
        ...reference,
        seconds: job.duration,
      },
      timeline: planTask(clock.now(), digest, speed, job.faults.names.has("slow"), usualMs),
      repeatsURL: number % 2 === 1,
      queries: 0,
      successQueries: 0,
    };
    tasks.set(task.id, task);
    return task;
  }

  function query({ param: id, origin }: Exchange): Answer {
    const task = tasks.get(id);
    if (!task) return unknownThing(`There is no task ${id}.`, "task_not_found");
    const { faults } = task.job;
    const nth = ++task.queries;
    const isAmongFirst = (fault: "late" | "busy" | "unknown") =>
      faults.names.has(fault) && nth <= (faults.numbers.get(fault) ?? USUAL_QUERIES);
    if (isAmongFirst("late")) return unknownThing(`There is no task ${id}.`, "task_not_found");
    if (isAmongFirst("busy")) return rateLimited(1);
    const view = viewOf(task, isAmongFirst("unknown"), origin);
    return json(resultOf(task, view));
  }

  function viewOf(task: KeptTask, oddStatus: boolean, origin: string): View {
    const { faults, returnsLastFrame } = task.job;
    const progress = progressAt(task.timeline, clock.now());
    const failed = faults.names.has("fail");
    const unfinished = { oddStatus, failed, url: undefined, lastFrameURL: undefined };
    // an unknown status must not come with signs of an end
    if (oddStatus) return { ...unfinished, phase: "running", share: Math.min(progress.share, 0.99) };
    if (progress.phase !== "finished" || failed || isWithoutURL(task)) return { ...progress, ...unfinished };

    const at = { origin, expiresAt: task.timeline.finishedAt + DAY_MS };
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

function isWithoutURL(task: KeptTask): boolean {
  const { names, numbers } = task.job.faults;
  return names.has("no-url") && ++task.successQueries <= (numbers.get("no-url") ?? Infinity);
}
