import type { ChatDelta, ChatOutcome, ChatUsage } from "./delta.js";
import type { ToolCall } from "./schema.js";

/** The parts of a `chat.completion.chunk` that we read. Gateways vary, so everything may be missing or null. */
export interface Chunk {
  id?: string | null;
  model?: string | null;
  choices?: ChunkChoice[] | null;
  usage?: ChatUsage | null;
}

interface ChunkChoice {
  index?: number | null;
  delta?: ChunkDelta | null;
  message?: ChunkDelta | null;
  finish_reason?: string | null;
}

interface ChunkDelta {
  content?: string | ContentPart[] | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  refusal?: string | null;
  tool_calls?: ToolCallDelta[] | null;
}

interface ContentPart {
  type?: string;
  text?: string;
  thinking?: string | ContentPart[];
}

interface ToolCallDelta {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown } | null;
}

/** Turns the chunks of one choice into deltas. It holds what spans chunks: which tool calls are open. */
export interface ChoiceReader {
  readonly finishReason: string | null;
  /** What the model said instead of an answer, where the service marks it so. */
  readonly refusal: string | undefined;
  readonly hasToolCalls: boolean;
  read(choice: ChunkChoice): void;
  /** No more chunks come: the tool calls are whole. */
  finish(): void;
}

/** Creates the reader of one choice; `emit` gets its deltas in order. */
export function createChoiceReader(emit: (delta: ChatDelta) => void): ChoiceReader {
  const calls: { wireIndex: number; id: string; name: string; text: string }[] = [];
  let finishReason: string | null = null;
  let refusal: string | undefined;
  let started = false;

  return {
    get finishReason() {
      return finishReason;
    },
    get refusal() {
      return refusal;
    },
    get hasToolCalls() {
      return calls.length > 0;
    },
    read(choice) {
      if (choice.finish_reason) finishReason = choice.finish_reason;
      // some services repeat the whole message beside or after the deltas: it is read only in their stead
      const delta = choice.delta ?? (started ? undefined : choice.message);
      if (delta) readDelta(delta);
    },
    finish() {
      calls.forEach(({ id, name, text }, index) => {
        const toolCall: ToolCall = {
          id: id || `call-${index}`,
          type: "function",
          function: { name, arguments: text },
        };
        emit({ type: "tool-call", index, toolCall });
      });
    },
  };

  function readDelta({
    content,
    reasoning_content,
    reasoning,
    refusal: refused,
    tool_calls,
  }: ChunkDelta): void {
    const thought = reasoning_content ?? reasoning;
    if (thought) push({ type: "reasoning-delta", text: thought });
    if (typeof content === "string") {
      if (content !== "") push({ type: "text-delta", text: content });
    } else content?.forEach(readPart);
    if (refused) refusal = (refusal ?? "") + refused;
    tool_calls?.forEach(readToolCall);
  }

  function readPart({ type, text, thinking }: ContentPart): void {
    const thought = typeof thinking === "string" ? thinking : thinking?.map((part) => part.text).join("");
    if (type === "thinking" && thought) push({ type: "reasoning-delta", text: thought });
    else if (text) push({ type: "text-delta", text });
  }

  function readToolCall(entry: ToolCallDelta, position: number): void {
    const index = openCall(entry, position);
    const call = calls[index] as (typeof calls)[number];
    // identity is set, never appended: services repeat it, or send it empty later on
    if (entry.id) call.id = entry.id;
    if (entry.function?.name) call.name = entry.function.name;
    const text = argumentsText(entry.function?.arguments);
    if (text === "") return;
    call.text += text;
    push({ type: "tool-call-delta", index, arguments: text });
  }

  /** The call that an entry belongs to: by its index, else by its id, else by its place in the array. */
  function openCall({ index: wireIndex, id, function: fn }: ToolCallDelta, position: number): number {
    const known = calls.findLastIndex((other) =>
      wireIndex == null && id ? other.id === id : other.wireIndex === (wireIndex ?? position),
    );
    const call = calls[known];
    const isAnother = id && fn?.name && call?.id && call.id !== id;
    if (call && !isAnother) return known;
    const identity = { id: id ?? "", name: fn?.name ?? "" };
    calls.push({ wireIndex: wireIndex ?? position, ...identity, text: "" });
    push({ type: "tool-call-start", index: calls.length - 1, ...identity });
    return calls.length - 1;
  }

  function push(delta: ChatDelta): void {
    started = true;
    emit(delta);
  }
}

function argumentsText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const outcomes: Readonly<Record<string, ChatOutcome>> = {
  length: "length",
  content_filter: "content-filter",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  insufficient_system_resource: "insufficient-resource",
  error: "error",
};

/** What a `finish_reason` means. Services that say `stop` after tool calls mean the calls. */
export function outcomeOf(finishReason: string | null, hasToolCalls: boolean): ChatOutcome {
  const outcome = finishReason === null ? undefined : outcomes[finishReason];
  return outcome ?? (hasToolCalls ? "tool-calls" : "complete");
}
