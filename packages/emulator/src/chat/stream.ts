import { type EmulatorClock, waitForAbort } from "../base/clock.js";
import type { FailureMode } from "../server/faults.js";
import { createErrorBody } from "../server/http.js";
import { createResetError } from "../server/network-faults.js";
import type { OpenRecord } from "../server/request-log.js";
import type { Reply } from "./budget.js";
import type { Pace } from "./pace.js";
import type { toUsage } from "./usage.js";

/** Fields of every chunk of a completion. */
export interface ChunkHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** A streamed completion. */
export interface StreamPlan {
  readonly head: ChunkHead;
  readonly reply: Reply;
  /** Sent in a separate chunk after the finish. Undefined unless the request includes usage. */
  readonly usage: ReturnType<typeof toUsage> | undefined;
  readonly failureMode: FailureMode | undefined;
  readonly pace: Pace;
  readonly clock: EmulatorClock;
  readonly record: OpenRecord;
}

/** Maximum number of deltas of text before a failure. */
const MAX_DELTAS_BEFORE_FAILURE = 8;
const DONE = "data: [DONE]\n\n";

/** Writes the frames of a completion: `chat.completion.chunk` objects as server-sent events, then `[DONE]`. */
export async function* writeFrames(plan: StreamPlan, signal: AbortSignal): AsyncGenerator<string> {
  const { reply, usage, pace, clock, record, failureMode } = plan;
  // with usage in the last chunk, every other chunk has `usage: null`
  const noUsage = usage && { usage: null };
  const toChunk = (delta: object, finish: string | null = null) =>
    toFrame({ ...toHead(plan), choices: [{ index: 0, delta, finish_reason: finish }], ...noUsage });

  yield toChunk({ role: "assistant", content: reply.content.length > 0 ? "" : null });
  const deltas = toDeltas(reply);
  const failureIndex = computeFailureIndex(deltas.length, reply.reasoning.length);
  for (const [index, delta] of deltas.entries()) {
    await pace.wait(clock, index, signal);
    record.deltas++;
    yield toChunk(delta);
    if (failureMode === undefined || index + 1 !== failureIndex) continue;
    if (failureMode === "truncate") return;
    if (failureMode === "unconfirmed") return yield DONE;
    if (failureMode === "drop") throw createResetError();
    if (failureMode === "stall") await waitForAbort(signal);
    if (failureMode === "error-frame") return yield toFrame(midwayError);
    yield createBrokenFrame(plan);
  }
  yield toChunk({}, reply.finishReason);
  if (usage) yield toFrame({ ...toHead(plan), choices: [], usage });
  yield DONE;
}

/** Error of the fault `error-frame`. */
const midwayError = createErrorBody(
  "The model failed during its response.",
  "server_error",
  "upstream_error",
);

/** Computes how many deltas come before a failure: all of the thinking and, if possible, only some of the text. */
function computeFailureIndex(deltas: number, thinking: number): number {
  const afterThinking = deltas - thinking;
  return thinking + Math.min(MAX_DELTAS_BEFORE_FAILURE, Math.ceil(afterThinking / 2));
}

function toDeltas({ reasoning, content, calls }: Reply): object[] {
  const deltas = [
    ...reasoning.map((token) => ({ reasoning_content: token })),
    ...content.map((token) => ({ content: token })),
    ...calls.flatMap(({ id, name, fragments }, index) => [
      { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
      ...fragments.map((fragment) => ({ tool_calls: [{ index, function: { arguments: fragment } }] })),
    ]),
  ];
  return deltas.length > 0 ? deltas : [{ content: "" }];
}

function toHead({ head }: StreamPlan) {
  return { id: head.id, object: "chat.completion.chunk", created: head.created, model: head.model };
}

function toFrame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function createBrokenFrame(plan: StreamPlan): string {
  return `data: ${JSON.stringify(toHead(plan)).slice(0, -1)},"choices":[{"index":0,"delta":{"content":"lost\n\n`;
}
