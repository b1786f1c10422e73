import { type EmulatorClock, untilAborted } from "../base/clock.js";
import type { FailureMode } from "../server/faults.js";
import { errorBody } from "../server/http.js";
import { reset } from "../server/network-faults.js";
import type { OpenRecord } from "../server/request-log.js";
import type { Reply } from "./budget.js";
import type { Pace } from "./pace.js";
import type { usageOf } from "./usage.js";

/** Fields of every chunk of a completion. */
export interface ChunkHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** A streamed completion that is about to be written. */
export interface StreamPlan {
  readonly head: ChunkHead;
  readonly reply: Reply;
  /** Sent in a chunk of its own behind the finish; undefined where it was not asked for. */
  readonly usage: ReturnType<typeof usageOf> | undefined;
  readonly failureMode: FailureMode | undefined;
  readonly pace: Pace;
  readonly clock: EmulatorClock;
  readonly record: OpenRecord;
}

const DELTAS_BEFORE_FAILURE = 8;
const DONE = "data: [DONE]\n\n";

/** Writes the frames of a completion: `chat.completion.chunk` objects as server-sent events, then `[DONE]`. */
export async function* writeFrames(plan: StreamPlan, signal: AbortSignal): AsyncGenerator<string> {
  const { reply, usage, pace, clock, record, failureMode } = plan;
  // where usage was requested, a chunk without it has `usage: null`
  const noUsage = usage && { usage: null };
  const chunk = (delta: object, finish: string | null = null) =>
    frame({ ...headOf(plan), choices: [{ index: 0, delta, finish_reason: finish }], ...noUsage });

  yield chunk({ role: "assistant", content: reply.content.length > 0 ? "" : null });
  const deltas = deltasOf(reply);
  const failureIndex = failureIndexOf(deltas.length, reply.reasoning.length);
  for (const [index, delta] of deltas.entries()) {
    await pace.wait(clock, index, signal);
    record.deltas++;
    yield chunk(delta);
    if (failureMode === undefined || index + 1 !== failureIndex) continue;
    if (failureMode === "truncate") return;
    if (failureMode === "unconfirmed") return yield DONE;
    if (failureMode === "drop") throw reset();
    if (failureMode === "stall") await untilAborted(signal);
    if (failureMode === "error-frame") return yield frame(midwayError);
    yield brokenFrame(plan);
  }
  yield chunk({}, reply.finishReason);
  if (usage) yield frame({ ...headOf(plan), choices: [], usage });
  yield DONE;
}

/** Error of the fault `error-frame`. */
const midwayError = errorBody("The model failed while it was answering.", "server_error", "upstream_error");

/** Number of deltas before a failure: all of the thinking and some of the text, but not all of it where possible. */
function failureIndexOf(deltas: number, thoughts: number): number {
  const said = deltas - thoughts;
  return thoughts + Math.min(DELTAS_BEFORE_FAILURE, Math.ceil(said / 2));
}

function deltasOf({ reasoning, content, calls }: Reply): object[] {
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

function headOf({ head }: StreamPlan) {
  return { id: head.id, object: "chat.completion.chunk", created: head.created, model: head.model };
}

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function brokenFrame(plan: StreamPlan): string {
  return `data: ${JSON.stringify(headOf(plan)).slice(0, -1)},"choices":[{"index":0,"delta":{"content":"lost\n\n`;
}
