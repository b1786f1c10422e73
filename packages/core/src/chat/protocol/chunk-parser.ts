import { parseJSON } from "../../transport/error-response.js";
import { type ChunkConsumer, createEventChunks } from "./event-chunks.js";
import { type FrameCode, plainFrames } from "./plain-frames.js";
import { createEnding, type EndHandlers } from "./stream-end.js";
import { createWholeBody, type WholeBody } from "./whole-body.js";

/** The consumer of a chunk parser. Nothing comes after `onEnd`. */
export interface ChunkHandlers extends ChunkConsumer, EndHandlers {}

/** Turns the bytes of a chat stream into chunks, and reports how they ended. It never throws. */
export interface ChunkParser {
  /** Last `id` of an event that was read, of an answer that is kept; empty where none had one. */
  readonly lastEventId: string;
  /**
   * Reads the next bytes; without any, the bytes have ended. Returns a promise where the code for it is still being
   * loaded: they are read then.
   */
  push(bytes?: Uint8Array): Promise<void> | undefined;
  /** Continues with the bytes of another connection, from the start of an event. */
  restart(): void;
}

/**
 * The loaded module, because importing it again costs time. Not its promise: in a Worker, no request may wait for
 * another one's.
 */
let code: FrameCode | undefined;

/** Creates the parser of one answer. It loads its code while the request is out; bytes wait for it. */
export function createChunkParser(handlers: ChunkHandlers): ChunkParser {
  let parser = code && createLoadedParser(code, handlers);
  let loading = parser ? undefined : load();
  let isResumed = false;

  return {
    get lastEventId() {
      return parser?.cursor.id ?? "";
    },
    push(bytes) {
      if (!loading) return parser?.push(bytes);
      return loading.then(() => {
        // from here on later bytes are read at once: none may be read before these
        loading = undefined;
        parser?.push(bytes);
      });
    },
    restart() {
      isResumed = true;
      parser?.restart();
    },
  };

  async function load(): Promise<void> {
    code = await import("./frame-reading.js").catch(() => undefined);
    parser = createLoadedParser(code ?? plainFrames, handlers);
    if (isResumed) parser.restart();
  }
}

/**
 * Kind of a body.
 *
 * - `unknown`: nothing but spaces has come
 * - `stream`: an event stream
 * - `whole`: an error, a page or an answer in place of a stream
 */
type BodyKind = "unknown" | "stream" | "whole";

/** Creates a parser that has its code. */
function createLoadedParser(code: FrameCode, handlers: ChunkHandlers) {
  const frames = code.createFrameReader(parseJSON);
  const ending = createEnding(handlers, code.errorFieldsOfText);
  const events = createEventChunks(code, frames, ending, handlers);
  let whole: WholeBody | undefined;
  let kind: BodyKind = "unknown";

  return {
    cursor: events.cursor,
    push(bytes: Uint8Array | undefined): undefined {
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
    whole ??= createWholeBody(frames, ending, handlers.onChunk);
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
