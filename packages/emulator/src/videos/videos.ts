import { checkVideoRequest, videoModels } from "@sluice/core/schemas";
import type { AssetStatus } from "../assets/assets.js";
import { checkBody } from "../check.js";
import type { EmulatorClock } from "../clock.js";
import { jsonEnding } from "../ending.js";
import type { Exchange } from "../exchange.js";
import type { Files } from "../files/files.js";
import { hash } from "../hash.js";
import { type Answer, json, rateLimited, unknownThing } from "../http.js";
import type { Refuse } from "../refusals.js";
import { createShelf } from "../shelf.js";
import { readVideoAsk, type VideoAsk, type VideoRequestBody } from "./ask.js";
import { refuseReferences } from "./references.js";
import { bareOf, envelopeOf, type Task, type View } from "./result.js";
import { planTask, progressAt } from "./timeline.js";

/** What the video endpoints need. */
export interface VideosOptions {
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly files: Files;
  /** The status of an asset that a request refers to. */
  readonly assetStatus: (id: string) => AssetStatus | undefined;
}

/** A task, and how often it has been asked after. */
interface KeptTask extends Task {
  queries: number;
  /** Queries that saw the success. */
  sights: number;
}

const DAY_MS = 24 * 3_600_000;
const MOST = 2000;
const USUAL_QUERIES = 2;

/** `POST /v1/video/generations`, and the query of what it made: for 24 hours, of the last 2,000 tasks. */
export function createVideos({ clock, speed, refuse, files, assetStatus }: VideosOptions) {
  const tasks = createShelf<KeptTask>({ clock, most: MOST, lifetimeMs: DAY_MS });
  let count = 0;
  return { create, query, clear };

  async function create(exchange: Exchange): Promise<Answer> {
    const checked = checkBody<VideoRequestBody>(exchange, checkVideoRequest, videoModels);
    if ("refusal" in checked) return checked.refusal;
    const ask = readVideoAsk(checked.body);
    const refusal = refuseReferences(checked.body, assetStatus) ?? refuse(ask.cues, exchange.text);
    if (refusal) return refusal;

    const { id } = keep(ask, exchange.text);
    const receipt = {
      id,
      task_id: id,
      object: "video",
      model: ask.model,
      status: ask.family === "gamma-2" ? "" : "queued",
      progress: 0,
      created_at: Math.floor(clock.now() / 1000),
    };
    return jsonEnding(receipt, ask.cues.ending, exchange.request.signal);
  }

  function keep(ask: VideoAsk, text: string): Task {
    const digest = hash(text);
    const number = ++count;
    const task = {
      id: `task-${digest}-${number}`,
      ask,
      timeline: planTask(clock.now(), digest, speed, ask.cues.names.has("slow")),
      repeatsURL: number % 2 === 1,
      queries: 0,
      sights: 0,
    };
    tasks.put(task.id, task);
    return task;
  }

  function query({ param: id, origin }: Exchange): Answer {
    const task = tasks.get(id);
    if (!task) return unknownThing(`There is no task ${id}.`, "task_not_found");
    const { cues, family } = task.ask;
    const nth = ++task.queries;
    const isAmongFirst = (scene: "late" | "busy" | "unknown") =>
      cues.names.has(scene) && nth <= (cues.numbers.get(scene) ?? USUAL_QUERIES);
    if (isAmongFirst("late")) return unknownThing(`There is no task ${id}.`, "task_not_found");
    if (isAmongFirst("busy")) return rateLimited(1);
    const view = viewOf(task, isAmongFirst("unknown"), origin);
    return json(family === "gamma-2" && cues.names.has("flat") ? bareOf(task, view) : envelopeOf(task, view));
  }

  function viewOf(task: KeptTask, oddStatus: boolean, origin: string): View {
    const { cues, returnsLastFrame } = task.ask;
    const progress = progressAt(task.timeline, clock.now());
    const failed = cues.names.has("fail");
    const nothing = { oddStatus, failed, url: undefined, lastFrameURL: undefined };
    // whoever does not know the word must not see an end behind it
    if (oddStatus) return { ...nothing, phase: "running", share: Math.min(progress.share, 0.99) };
    if (progress.phase !== "finished" || failed || isWithoutURL(task)) return { ...progress, ...nothing };

    const at = { origin, expiresAt: task.timeline.finishedAt + DAY_MS };
    const url = files.publish(`${task.id}.mp4`, "video", at);
    const lastFrameURL = returnsLastFrame
      ? files.publish(`${task.id}-last.png`, lastFrameOf(task), at)
      : undefined;
    return { ...progress, ...nothing, url, lastFrameURL };
  }

  function clear() {
    tasks.clear();
    count = 0;
  }
}

function isWithoutURL(task: KeptTask): boolean {
  const { names, numbers } = task.ask.cues;
  return names.has("no-url") && ++task.sights <= (numbers.get("no-url") ?? Infinity);
}

function lastFrameOf({ id, ask }: Task) {
  const captions = [ask.model, "the last frame"];
  return { width: 1280, height: 720, seed: id, captions, text: ask.cues.text };
}
