import { addAdvice } from "../base/advice.js";
import { callAfter, readCoarseTime } from "../base/clock.js";
import { ConnectionError, ResponseError, TimeoutError } from "../types/errors.js";
import { excerpt } from "./error-response.js";
import type { Connection, Exchange } from "./send.js";

/** The reader of a body, as in the Streams standard. */
export type BodyReader = Pick<ReadableStreamDefaultReader<unknown>, "read" | "cancel">;

/** Creates a reader of a response's body. `read` rejects if the body is not a stream, or was read before. */
export function createBodyReader({ body, bodyUsed }: Response): BodyReader {
  if (typeof body?.getReader === "function" && !body.locked && !bodyUsed) return body.getReader();
  return {
    async read() {
      if (body === null) return { done: true, value: undefined };
      throw createUnreadableError();
    },
    cancel: async () => {},
  };
}

/** Creates the error of a body that cannot be read. */
export function createUnreadableError(): ConnectionError {
  const error = new ConnectionError("the response can't be read, and may be billed", "maybe");
  addAdvice(
    error,
    ": its body is not a stream of bytes, or was read before; give createClient `fetch: standardFetch(fetch)`, or read `response.clone()`",
  );
  return error;
}

/** The bytes of a response, read one piece at a time. */
export interface ByteReader<Out> {
  /** Reads the next piece and returns the result of its handler. It costs one promise and no closure. */
  read(): Promise<Out>;
  /** Records that the caller consumes the last piece. A caller that is idle for `chunkMs` loses the connection. */
  touch(): void;
  /** Restarts the silence limit, when another connection continues the body. */
  restart(): void;
  /** Drops the connection. */
  cancel(): void;
  /** Waits a moment for the end and ignores the rest, so that the connection can be reused. */
  release(): void;
}

/** Handlers of a reader. */
export interface ByteHandlers<Out> {
  /** Gets a piece, or undefined at the end. */
  use(bytes: Uint8Array | undefined): Out | Promise<Out>;
  /** Gets the abort reason of the exchange, or the connection's error. */
  lose(error: unknown): Out | Promise<Out>;
  /**
   * Called before each read. True restarts the limit `chunkMs`. The limit does not run before the first `true`.
   *
   * @default () => true
   */
  resetsSilence?(): boolean;
}

const RELEASE_MS = 1000;

/**
 * Reads a response's body under the exchange's signal and `chunkMs`. The platform enforces neither: a fetch timeout
 * ends with the headers, and a handler in the same process may ignore the abort.
 */
export function readBody<Out>(
  client: Connection,
  exchange: Pick<Exchange, "signal" | "chunkMs" | "abort">,
  reader: BodyReader,
  { use, lose, resetsSilence = () => true }: ByteHandlers<Out>,
): ByteReader<Out> {
  const { signal, chunkMs, abort } = exchange;
  const { clock } = client;
  const closed = new AbortController();
  let silentSince: number | undefined;
  let isWaiting = false;
  let idleSince: number | undefined;
  let wasTouched = false;
  let isCancelled = false;
  let isWatched = chunkMs === Number.POSITIVE_INFINITY;

  signal.addEventListener("abort", cancelAborted);
  if (signal.aborted) cancelAborted();
  return { read, touch, restart, cancel, release };

  function read(): Promise<Out> {
    if (resetsSilence()) silentSince = readCoarseTime(clock);
    if (!isWatched) void watchSilence();
    isWaiting = true;
    return reader.read().then(handleChunk, handleFailure);
  }

  function handleChunk({ done, value }: ReadableStreamReadResult<unknown>): Out | Promise<Out> {
    isWaiting = false;
    // cancelling ends a pending read like the end of the body, but the body has not ended
    if (isCancelled) return lose(signal.reason);
    if (done) close();
    // bytes of another realm are not instances of `Uint8Array`
    if (!(done || (ArrayBuffer.isView(value) && "find" in value))) return lose(createUnreadableError());
    idleSince = readCoarseTime(clock);
    wasTouched = false;
    return use(done ? undefined : (value as Uint8Array));
  }

  /** Runs for each delta, so it does not read the clock: an idle caller may be detected one limit later. */
  function touch(): void {
    wasTouched = true;
  }

  function restart(): void {
    if (silentSince !== undefined) silentSince = readCoarseTime(clock);
    if (!isWatched) void watchSilence();
  }

  function handleFailure(error: unknown): Out | Promise<Out> {
    close();
    return lose(signal.aborted ? signal.reason : error);
  }

  function cancelAborted(): void {
    cancel(signal.reason);
  }

  /** Stops the timers and the listener. */
  function close(): void {
    signal.removeEventListener("abort", cancelAborted);
    closed.abort(null);
  }

  function cancel(reason?: unknown): void {
    isCancelled = signal.aborted;
    close();
    reader.cancel(reason).catch(() => {});
  }

  function release(): void {
    const stop = () => cancel();
    callAfter(clock, RELEASE_MS, closed.signal, stop);
    reader.read().then(stop, stop);
  }

  /** Limits the server's silence and the caller's idle time with one timer, which restarts for the rest of the wait. */
  async function watchSilence(): Promise<void> {
    isWatched = true;
    let pause = chunkMs;
    for (;;) {
      await clock.sleep(pause, closed.signal).catch(() => {});
      if (closed.signal.aborted) return;
      if (wasTouched) idleSince = readCoarseTime(clock);
      wasTouched = false;
      const since = isWaiting ? silentSince : idleSince;
      const silentMs = since === undefined ? 0 : readCoarseTime(clock) - since;
      if (silentMs >= chunkMs) {
        const limit = `${chunkMs} ms (timeout.chunkMs)`;
        const text = isWaiting
          ? `nothing came for ${limit}`
          : `not read for ${limit}: the response was closed`;
        // another connection may continue the body
        isWatched = false;
        return abort(new TimeoutError(text, "chunk"));
      }
      pause = chunkMs - silentMs;
    }
  }
}

/** Limit of a whole response, in characters. Larger than any JSON of the spec. */
const MAX_LENGTH = 32 * 1024 * 1024;

/**
 * Reads the whole body as text and ends the exchange.
 *
 * @throws {ResponseError} for a body longer than 32 MB
 */
export async function readText(client: Connection, exchange: Exchange, response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = readBody(client, exchange, createBodyReader(response), {
    use(bytes) {
      text += bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
      if (text.length > MAX_LENGTH)
        throw new ResponseError("the response is longer than 32 MB", { path: "", body: excerpt(text) });
      return bytes !== undefined;
    },
    lose(error): boolean {
      throw error;
    },
  });
  try {
    while (await reader.read());
    return text;
  } finally {
    reader.cancel();
    exchange.end();
  }
}

/**
 * Reads a response's body piece by piece, under the exchange's signal and `chunkMs`. Also reads the bodies of a custom
 * `fetch`: a Node stream, or texts.
 *
 * @throws the signal's reason; the error of the connection
 */
export async function* readChunks(
  client: Connection,
  exchange: Pick<Exchange, "signal" | "chunkMs" | "abort">,
  response: Response,
): AsyncGenerator<Uint8Array, void> {
  const reader = readBody<Uint8Array | undefined>(client, exchange, createBodyReader(response), {
    use: (bytes) => bytes,
    lose(error) {
      throw error;
    },
  });
  try {
    for (let bytes = await reader.read(); bytes; bytes = await reader.read()) yield bytes;
  } finally {
    reader.cancel();
  }
}
