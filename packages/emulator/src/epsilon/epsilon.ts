import { type FileEndpointOptions, RESULT_LIFETIME_MS } from "../files/files.js";
import { getFrameSize } from "../files/media.js";
import { parseBody } from "../server/check.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { respondJSON } from "../server/failure-mode.js";
import { faultTables } from "../server/fault-tables.js";
import { readFaults } from "../server/faults.js";
import { hash } from "../server/hash.js";
import { createJSON, createUnknownId, type HandlerResponse } from "../server/http.js";
import { createCounter } from "../server/state.js";
import { computeProgress, planTimeline, type Timeline } from "../server/timeline.js";

interface EpsilonTask {
  /** Prompt of the request. */
  readonly prompt: string;
  readonly timeline: Timeline;
  readonly fails: boolean;
}

const MAX_TASKS = 2000;
const SECONDS = 5;
const MAX_PROMPT_CHARACTERS = 600;
const statusWords = {
  submitted: "submitted",
  queued: "submitted",
  running: "processing",
  finished: "succeed",
} as const;

/**
 * Creates the four endpoints of the second video vendor (spec, Endpoints). The spec shows no shapes: the endpoints
 * accept any JSON, and the responses are an assumption.
 */
export function createEpsilon({ state, clock, speed, refuse, takeFailure, files }: FileEndpointOptions) {
  const tasks = createExpiringMap<EpsilonTask>({
    clock,
    maxEntries: MAX_TASKS,
    lifetimeMs: RESULT_LIFETIME_MS,
    state,
    name: "epsilon",
  });
  const count = createCounter(state, "epsilon");
  return { handleCreate, handleQuery, clear };

  async function handleCreate(exchange: Exchange): Promise<HandlerResponse> {
    const parsed = parseBody(exchange);
    if ("refusal" in parsed) return parsed.refusal;
    const faults = readFaults(readStrings(exchange.text), faultTables.epsilon, exchange.scripted?.faults);
    const refusal = refuse(faults, exchange);
    if (refusal) return refusal;

    const digest = hash(`${exchange.record.path} ${exchange.text}`);
    const id = `epsilon-${digest}-${count.next()}`;
    const timeline = planTimeline(clock.now(), digest, speed, faults.names.has("slow"));
    const task = {
      prompt: cut(readPrompt(parsed.body), MAX_PROMPT_CHARACTERS),
      timeline,
      fails: faults.names.has("fail"),
    };
    tasks.set(id, task);
    return respondJSON(toBody(id, task, exchange), takeFailure(faults, exchange), exchange.request.signal);
  }

  function handleQuery(exchange: Exchange): HandlerResponse {
    const task = tasks.get(exchange.param);
    if (!task) return createUnknownId(`There is no task ${exchange.param}.`, "task_not_found");
    return createJSON(toBody(exchange.param, task, exchange));
  }

  function toBody(id: string, { prompt, timeline, fails }: EpsilonTask, { origin, id: requestId }: Exchange) {
    const { phase } = computeProgress(timeline, clock.now());
    const isFinal = phase === "finished";
    const at = { origin, expiresAt: timeline.finishedAt + RESULT_LIFETIME_MS };
    const video = { ...getFrameSize("16:9"), prompt, seed: id, index: 0, seconds: SECONDS };
    const createTaskResult = () => ({
      task_result: {
        videos: [{ id: `${id}-0`, url: files.publish(`${id}.mp4`, video, at), duration: SECONDS }],
      },
    });
    const data = {
      task_id: id,
      task_status: isFinal && fails ? "failed" : statusWords[phase],
      task_status_msg: isFinal && fails ? "The video was not made." : "",
      created_at: timeline.submittedAt,
      updated_at: isFinal ? timeline.finishedAt : timeline.submittedAt,
      ...(isFinal && !fails ? createTaskResult() : {}),
    };
    return { code: 0, message: "", request_id: requestId, data };
  }

  function clear() {
    tasks.clear();
    count.clear();
  }
}

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** Returns every JSON string in a body. Outside of a string, `[[500]]` is a list of lists, not a fault. */
function readStrings(body: string): readonly string[] {
  return (body.match(STRING) ?? []).map((text) => text.slice(1, -1));
}

/** Returns the field `prompt` of a request, or an empty string. */
function readPrompt(body: unknown): string {
  const prompt = typeof body === "object" && body !== null && "prompt" in body ? body.prompt : undefined;
  return typeof prompt === "string" ? prompt : "";
}
