import { type ChunkConsumer, createEventChunks } from "./event-chunks.js";
import { createFrameReader } from "./frame-reader.js";
import { createEnding, type EndHandlers } from "./stream-end.js";
import { createWholeBody, type WholeBody } from "./whole-body.js";

/** The consumer of a chunk parser. Nothing comes after `onEnd`. */
export interface ChunkHandlers extends ChunkConsumer, EndHandlers {}

/** Turns the bytes of a chat stream into chunks, and reports how they ended. It never throws. */
export interface ChunkParser {
  /** Last `id` of an event that was read, of an answer that is kept; empty where none had one. */
  readonly lastEventId: string;
  /** Reads the next bytes; without any, the bytes have ended. */
  push(bytes: Uint8Array | undefined): void;
  /** Continues with the bytes of another connection, from the start of an event. */
  restart(): void;
}

/**
 * Kind of a body.
 *
 * - `unknown`: nothing but spaces has come
 * - `stream`: an event stream
 * - `whole`: an error, a page or an answer in place of a stream
 */
type BodyKind = "unknown" | "stream" | "whole";

/** Creates the parser of one answer. */
export function createChunkParser(handlers: ChunkHandlers): ChunkParser {
  const frames = createFrameReader();
  const ending = createEnding(handlers);
  const events = createEventChunks(frames, ending, handlers);
  let whole: WholeBody | undefined;
  let kind: BodyKind = "unknown";

  return {
    get lastEventId() {
      return events.cursor.id;
    },
    push(bytes) {
      try {
        if (bytes) read(bytes);
        else if (kind === "whole") whole?.end();
        else events.end();
      } catch (cause) {
        const problem = `the stream can't be read: ${(cause as Error).message}`;
        ending.end({ type: "malformed", problem, cause });
      }
    },
    restart() {
      ending.restart();
      events.restart();
    },
  };

  function read(bytes: Uint8Array): void {
    if (kind === "unknown") kind = kindOf(bytes);
    if (kind !== "whole" && !ending.isOver) events.push(bytes);
    if (kind === "stream" || ending.isOver) return;
    whole ??= createWholeBody(frames, ending, handlers.onChunk, (text) =>
      events.push(new TextEncoder().encode(text)),
    );
    whole.push(bytes);
  }
}

/** Returns the kind of a body by its first character: no line of an event stream begins with a bracket. */
function kindOf(bytes: Uint8Array): BodyKind {
  // skips a byte order mark: all its bytes are beyond ASCII
  const first = bytes.find((byte) => byte > 0x20 && byte < 0x80);
  if (first === undefined) return "unknown";
  return "<{[".includes(String.fromCharCode(first)) ? "whole" : "stream";
}
