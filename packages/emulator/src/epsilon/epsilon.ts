import type { EmulatorClock } from "../base/clock.js";
import type { Files } from "../files/files.js";
import { frameSizeOf } from "../files/media.js";
import { parseBody } from "../server/check.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { answerJSON } from "../server/failure-mode.js";
import { hash } from "../server/hash.js";
import { type Answer, json, unknownThing } from "../server/http.js";
import type { FailureOf, Refuse } from "../server/refusals.js";
import { createCount, type EmulatorState } from "../server/state.js";
import { planTask, progressAt, type Timeline } from "../server/timeline.js";
import { readEpsilonFaults } from "./faults.js";

/** Parts that the epsilon endpoints use. */
export interface EpsilonOptions {
  readonly state: EmulatorState | undefined;
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly failureOf: FailureOf;
  readonly files: Files;
}

interface EpsilonTask {
  /** Texts of the request. */
  readonly prompt: string;
  readonly timeline: Timeline;
  readonly fails: boolean;
}

const DAY_MS = 24 * 3_600_000;
const MOST = 2000;
const SECONDS = 5;
const MOST_PROMPT = 600;
const words = {
  submitted: "submitted",
  queued: "submitted",
  running: "processing",
  finished: "succeed",
} as const;

/**
 * Creates the four endpoints of the second video vendor (spec, Endpoints). The spec shows no shapes: any JSON is
 * accepted, and the answers are an assumption.
 */
export function createEpsilon({ state, clock, speed, refuse, failureOf, files }: EpsilonOptions) {
  const tasks = createExpiringMap<EpsilonTask>({
    clock,
    most: MOST,
    lifetimeMs: DAY_MS,
    state,
    name: "epsilon",
  });
  const count = createCount(state, "epsilon");
  return { create, query, clear };

  async function create(exchange: Exchange): Promise<Answer> {
    const parsed = parseBody(exchange);
    if ("refusal" in parsed) return parsed.refusal;
    const faults = readEpsilonFaults(exchange.text, exchange.scripted?.faults);
    const whole = `${exchange.record.path} ${exchange.text}`;
    const refusal = refuse(faults, exchange);
    if (refusal) return refusal;

    const digest = hash(whole);
    const id = `epsilon-${digest}-${count.next()}`;
    const timeline = planTask(clock.now(), digest, speed, faults.names.has("slow"));
    const task = {
      prompt: cut(promptIn(parsed.body), MOST_PROMPT),
      timeline,
      fails: faults.names.has("fail"),
    };
    tasks.set(id, task);
    return answerJSON(bodyOf(id, task, exchange), failureOf(faults, exchange), exchange.request.signal);
  }

  function query(exchange: Exchange): Answer {
    const task = tasks.get(exchange.param);
    if (!task) return unknownThing(`There is no task ${exchange.param}.`, "task_not_found");
    return json(bodyOf(exchange.param, task, exchange));
  }

  function bodyOf(id: string, { prompt, timeline, fails }: EpsilonTask, { origin, id: requestId }: Exchange) {
    const { phase } = progressAt(timeline, clock.now());
    const isFinal = phase === "finished";
    const at = { origin, expiresAt: timeline.finishedAt + DAY_MS };
    const video = { ...frameSizeOf("16:9"), prompt, seed: id, index: 0, seconds: SECONDS };
    const result = () => ({
      task_result: {
        videos: [{ id: `${id}-0`, url: files.publish(`${id}.mp4`, video, at), duration: SECONDS }],
      },
    });
    const data = {
      task_id: id,
      task_status: isFinal && fails ? "failed" : words[phase],
      task_status_msg: isFinal && fails ? "The video was not made." : "",
      created_at: timeline.submittedAt,
      updated_at: isFinal ? timeline.finishedAt : timeline.submittedAt,
      ...(isFinal && !fails ? result() : {}),
    };
    return { code: 0, message: "", request_id: requestId, data };
  }

  function clear() {
    tasks.clear();
    count.clear();
  }
}

/** Returns the field `prompt` of a request, if it has one. */
function promptIn(body: unknown): string {
  const prompt = typeof body === "object" && body !== null && "prompt" in body ? body.prompt : undefined;
  return typeof prompt === "string" ? prompt : "";
}
