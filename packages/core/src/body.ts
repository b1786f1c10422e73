import { TimeoutError } from "./errors.js";
import type { Client, Exchange } from "./http.js";

/** The bytes of an answer, read one piece at a time. */
export interface ByteReader {
  /**
   * Reads the next piece and passes it on: `use` gets the bytes, or undefined at the end; `lose` gets the
   * exchange's reason once it is aborted, or the connection's error. One promise for each read, no more.
   */
  read<T>(
    use: (bytes: Uint8Array | undefined) => T | Promise<T>,
    lose: (error: unknown) => T | Promise<T>,
  ): Promise<T>;
  /** Drops the connection. */
  cancel(): void;
  /** All that matters has been read: waits a moment for the end, so that the connection can be used again. */
  release(): void;
}

const RELEASE_MS = 1000;

/**
 * Reads an answer's body under the exchange's signal and idle timeout. Neither is the platform's doing: a fetch
 * timeout does not govern a body that has begun, and a handler called in-process never sees the abort.
 */
export function readBody(client: Client, exchange: Exchange, response: Response): ByteReader {
  const { signal, idleMs, abort } = exchange;
  const { clock } = client;
  const reader = (response.body ?? new ReadableStream<Uint8Array>({ start: (c) => c.close() })).getReader();
  const closed = new AbortController();
  let waitingSince: number | undefined;

  signal.addEventListener("abort", () => cancel(signal.reason), { signal: closed.signal });
  if (signal.aborted) cancel(signal.reason);
  if (idleMs !== Number.POSITIVE_INFINITY) void watchIdle();
  return { read, cancel, release };

  function read<T>(
    use: (bytes: Uint8Array | undefined) => T | Promise<T>,
    lose: (error: unknown) => T | Promise<T>,
  ): Promise<T> {
    waitingSince = clock.now();
    return reader.read().then(
      ({ done, value }) => {
        waitingSince = undefined;
        // cancelling makes a pending read end as if the body had: it has not
        if (signal.aborted) return lose(signal.reason);
        if (done) closed.abort();
        return use(value);
      },
      (error) => {
        closed.abort();
        return lose(signal.aborted ? signal.reason : error);
      },
    );
  }

  function cancel(reason?: unknown): void {
    closed.abort();
    reader.cancel(reason).catch(() => {});
  }

  function release(): void {
    const stop = () => cancel();
    clock.sleep(RELEASE_MS, closed.signal).then(stop, () => {});
    read(stop, stop);
  }

  /** One timer, set again for what is left of the wait, instead of one timer per read. */
  async function watchIdle(): Promise<void> {
    let pause = idleMs;
    for (;;) {
      await clock.sleep(pause, closed.signal).catch(() => {});
      if (closed.signal.aborted) return;
      const waited = waitingSince === undefined ? 0 : clock.now() - waitingSince;
      if (waited >= idleMs)
        return abort(new TimeoutError(`no byte for ${idleMs} ms (timeouts.idleMs)`, "idle"));
      pause = idleMs - waited;
    }
  }
}

/** The whole of a body as text, and the end of its exchange. */
export async function readText(client: Client, exchange: Exchange, response: Response): Promise<string> {
  const reader = readBody(client, exchange, response);
  const decoder = new TextDecoder();
  let text = "";
  const append = (bytes: Uint8Array | undefined) => {
    text += bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    return bytes !== undefined;
  };
  const fail = (error: unknown) => {
    throw error;
  };
  try {
    while (await reader.read(append, fail));
    return text;
  } finally {
    exchange.end();
  }
}
