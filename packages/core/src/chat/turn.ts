import { parseJSON } from "../error-body.js";
import { accumulate, emptyMessage } from "./accumulate.js";
import { type ChoiceReader, type Chunk, createChoiceReader, outcomeOf } from "./chunk.js";
import type { ChatDelta, ChatMessage, ChatOutcome, ChatUsage } from "./delta.js";

/** A tool call that the model made. */
export interface ChatToolCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly arguments: string;
  /** The same as a value; undefined where the text is no JSON (a cut answer, a careless model). */
  readonly input: unknown;
}

/** How fast an answer came; milliseconds from the call of the verb. */
export interface ChatTiming {
  /** Until the first text, reasoning or tool call; undefined where none came. */
  readonly firstTokenMs?: number;
  readonly totalMs: number;
  /** `usage.completion_tokens` over the time after the first token; undefined without usage. */
  readonly tokensPerSecond?: number;
}

/** Another answer to the same request (`n` > 1 on services that offer it), folded like the first. */
export interface ChatAlternative {
  readonly message: ChatMessage;
  readonly finishReason: string | null;
}

/** A whole answer. */
export interface ChatTurn {
  /** To be appended to `messages` for the next request. */
  readonly message: ChatMessage;
  readonly toolCalls: readonly ChatToolCall[];
  /** As the gateway said it; null where it ended the stream without one. */
  readonly finishReason: string | null;
  readonly outcome: ChatOutcome;
  readonly usage?: ChatUsage;
  readonly model: string;
  readonly id: string;
  readonly timing: ChatTiming;
  readonly refusal?: string;
  readonly alternatives?: readonly ChatAlternative[];
  /** The answer as it came (of a stream, its last chunk), with the fields that we do not know. */
  readonly raw: unknown;
}

/** Reads the chunks of one answer; knows everything about it but the clock. */
export interface AnswerReader {
  /** True once a `finish_reason` has come. */
  readonly finished: boolean;
  read(chunk: Chunk): void;
  /** No more chunks come: emits what closes the answer, `finish` last. */
  finish(): void;
  turn(message: ChatMessage, timing: ChatTiming): ChatTurn;
}

/** Creates the reader of one answer; `emit` gets the deltas of its first choice. */
export function createAnswerReader(emit: (delta: ChatDelta) => void): AnswerReader {
  const first = createChoiceReader(emit);
  const others = new Map<number, { reader: ChoiceReader; message: ChatMessage }>();
  let id = "";
  let model = "";
  let usage: ChatUsage | undefined;
  let raw: unknown;

  return {
    get finished() {
      return first.finishReason !== null;
    },
    read(chunk) {
      raw = chunk;
      if (chunk.id) id = chunk.id;
      if (chunk.model) model = chunk.model;
      const { choices } = chunk;
      if (choices)
        for (const choice of choices) {
          if (choice.index) alternative(choice.index).reader.read(choice);
          else first.read(choice);
        }
      if (chunk.usage) {
        usage = chunk.usage;
        emit({ type: "usage", usage });
      }
    },
    finish() {
      first.finish();
      for (const { reader } of others.values()) reader.finish();
      emit({ type: "finish", finishReason: first.finishReason, outcome: outcome() });
    },
    turn(message, timing) {
      const { finishReason, refusal } = first;
      const tokens = usage?.completion_tokens;
      const seconds = (timing.totalMs - (timing.firstTokenMs ?? timing.totalMs)) / 1000;
      return {
        message,
        toolCalls: (message.tool_calls ?? []).map(({ id, function: call }) => ({
          id,
          name: call.name,
          arguments: call.arguments,
          input: parseJSON(call.arguments),
        })),
        finishReason,
        outcome: outcome(),
        ...(usage && { usage }),
        model,
        id,
        timing: tokens && seconds > 0 ? { ...timing, tokensPerSecond: tokens / seconds } : timing,
        ...(refusal !== undefined && { refusal }),
        ...(others.size > 0 && { alternatives: alternatives() }),
        raw,
      };
    },
  };

  function outcome(): ChatOutcome {
    return outcomeOf(first.finishReason, first.hasToolCalls);
  }

  function alternative(index: number) {
    const known = others.get(index);
    if (known) return known;
    const created = {
      reader: createChoiceReader((delta) => {
        created.message = accumulate(created.message, delta);
      }),
      message: emptyMessage,
    };
    others.set(index, created);
    return created;
  }

  function alternatives(): ChatAlternative[] {
    return [...others]
      .sort(([a], [b]) => a - b)
      .map(([, { message, reader }]) => ({ message, finishReason: reader.finishReason }));
  }
}
