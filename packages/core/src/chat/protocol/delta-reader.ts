import type { Issue } from "../../vocabulary/errors.js";
import { createFold } from "./accumulate.js";
import { type AnswerReader, type ChatTiming, type ChatTurn, createAnswerReader } from "./answer-reader.js";
import { createChunkParser } from "./chunk-parser.js";
import type { ChatDelta, ChatMessage } from "./delta.js";
import type { WireObject } from "./field-reader.js";
import type { StreamEnd } from "./stream-end.js";

/** Reads one answer: bytes go in, deltas come out. It does not know the network or the time. */
export interface DeltaReader extends Pick<AnswerReader, "head"> {
  /** The message so far, made of the deltas that were taken, or folded by `foldRest`. */
  readonly message: ChatMessage;
  /** Last `id` of an event that was read, of an answer that is kept; empty where none had one. */
  readonly eventId: string;
  /** End of the bytes; undefined while more may come. */
  readonly end: StreamEnd | undefined;
  /** True once a `finish_reason` has come. */
  readonly isFinished: boolean;
  /** True once the bytes have ended as those of a whole answer do. */
  readonly isWhole: boolean;
  /** Reads the next bytes; without any, the bytes have ended. */
  push(bytes: Uint8Array | undefined): void;
  /**
   * Takes the next delta and adds it to `message`; undefined where more bytes are needed.
   *
   * @throws {RangeError} when the message is longer than a text can be
   */
  take(): ChatDelta | undefined;
  /** Adds the deltas that were read and not taken to `message`. They can still be taken. */
  foldRest(): void;
  /** Ends the bytes after a broken connection. */
  cut(): void;
  /** Continues with the bytes of another connection. */
  restart(): void;
  turn(timing: ChatTiming): ChatTurn;
}

/** The consumer of a delta reader. */
interface DeltaHandlers {
  /** Gets each delta when it is read, before it can be taken. */
  readonly onDelta: (delta: ChatDelta) => void;
  /** Called for each chunk that carries content. */
  readonly onContent: () => void;
  /** Returns true for an answer that may be read over several connections: the ids of its events then count. */
  readonly isKept: () => boolean;
  readonly warn: (issue: Issue) => void;
}

/**
 * Creates the reader of one answer.
 *
 * @param several true for a request with `n` > 1
 */
export function createDeltaReader(
  { onDelta, onContent, isKept, warn }: DeltaHandlers,
  several: boolean,
): DeltaReader {
  const queue: ChatDelta[] = [];
  let taken = 0;
  let folded = 0;
  const fold = createFold();
  const answer = createAnswerReader(add, warn, several);
  const parser = createChunkParser({
    isKept,
    onChunk,
    hasBegun: () => answer.begun,
    hasFinished: () => answer.finished,
    onEnd,
  });
  const reader = {
    head: answer.head,
    get message() {
      return fold.message;
    },
    get eventId() {
      return parser.lastEventId;
    },
    end: undefined as StreamEnd | undefined,
    get isFinished() {
      return answer.finished;
    },
    isWhole: false,
    push(bytes: Uint8Array | undefined) {
      if (taken === queue.length) queue.length = taken = folded = 0;
      parser.push(bytes);
    },
    take() {
      if (taken === queue.length) return undefined;
      if (taken === folded) fold.add(queue[folded++] as ChatDelta);
      return queue[taken++];
    },
    foldRest() {
      try {
        while (folded < queue.length) fold.add(queue[folded++] as ChatDelta);
      } catch {
        // the text is too long: the message has its beginning
      }
    },
    cut: () => onEnd({ type: "cut" }),
    restart() {
      reader.end = undefined;
      parser.restart();
    },
    turn: (timing: ChatTiming) => answer.turn(fold.message, timing),
  };
  return reader;

  function add(delta: ChatDelta): void {
    onDelta(delta);
    queue.push(delta);
  }

  function onChunk(chunk: WireObject): void {
    if (answer.read(chunk)) onContent();
  }

  function onEnd(end: StreamEnd): void {
    const isWhole = end.type === "done" || (end.type === "cut" && answer.finished);
    const { problem } = answer;
    reader.end =
      isWhole && problem ? { type: "malformed", problem: `the answer can't be read: ${problem}` } : end;
    reader.isWhole = isWhole && !problem;
    if (reader.isWhole) answer.finish();
  }
}
