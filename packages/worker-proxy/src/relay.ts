import { errorBody, Refusal } from "./refusal.js";
import type { Upstream } from "./upstream.js";

const LINE_FEED = 10;
/** A line that does not end within this many bytes is passed on in pieces: memory stays bounded. */
const HELD_BYTES = 1024 * 1024;

/** How an answer's body ended: with nothing to say, or with the code of what went wrong. */
export type OnEnd = (code?: string) => void;

interface Piped {
  readonly upstream: Upstream;
  readonly idleMs: number;
  readonly onEnd: OnEnd;
}

/** A JSON answer's body. If it breaks off, so does the client's: half a document can't pass for one. */
export function relayJSON({ upstream, idleMs, onEnd }: Piped): ReadableStream<Uint8Array> {
  const read = readerOf(upstream, idleMs);
  return pulled(upstream, onEnd, async (controller) => {
    const piece = await read();
    if (piece) return controller.enqueue(piece);
    controller.close();
    onEnd();
  });
}

/**
 * An event stream, passed on line by line. If the gateway dies or falls silent the client is told inside the
 * stream, since nothing else can tell it: over HTTP a cut looks like an end.
 */
export function relayEvents({ upstream, idleMs, onEnd }: Piped): ReadableStream<Uint8Array> {
  const read = readerOf(upstream, idleMs);
  const encoder = new TextEncoder();
  let held = new Uint8Array();
  let last = "";

  return pulled(upstream, onEnd, async (controller) => {
    try {
      for (let piece = await read(); piece; piece = await read()) {
        const whole = wholeLinesOf(piece);
        if (whole.byteLength === 0) continue;
        last = new TextDecoder().decode(whole.subarray(-4096));
        return controller.enqueue(whole);
      }
      if (held.byteLength > 0) controller.enqueue(held);
      last += new TextDecoder().decode(held);
      if (!saysOver(last))
        throw new Refusal(502, "upstream_cut", "the gateway's answer broke off before its end");
      onEnd();
    } catch (error) {
      const refusal =
        error instanceof Refusal
          ? error
          : new Refusal(502, "upstream_cut", "the connection to the gateway broke before the answer's end");
      // the blank line closes what is open; a line that was cut is held back, and never passed on as if it were whole
      controller.enqueue(encoder.encode(`\n\nevent: error\ndata: ${errorBody(refusal)}\n\n`));
      onEnd(refusal.code);
      upstream.abort();
    }
    controller.close();
  });

  function wholeLinesOf(piece: Uint8Array): Uint8Array {
    const end = piece.lastIndexOf(LINE_FEED) + 1;
    if (end === 0 && held.byteLength + piece.byteLength < HELD_BYTES) {
      held = joined(held, piece);
      return new Uint8Array();
    }
    const whole = joined(held, piece.subarray(0, end || piece.byteLength));
    held = piece.slice(end || piece.byteLength);
    return whole;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.byteLength + second.byteLength);
  both.set(first);
  both.set(second, first.byteLength);
  return both;
}

/** Whether the end of a stream says that it is one. */
function saysOver(text: string): boolean {
  return /\[DONE\]|"finish_reason"\s*:\s*"|^event: error/m.test(text);
}

/** Reads the gateway's answer piece by piece; a silence longer than `idleMs` ends it. */
function readerOf({ response, abort }: Upstream, idleMs: number): () => Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  return async () => {
    let isIdle = false;
    const timer = setTimeout(() => {
      isIdle = true;
      abort();
      // an answer made in this process does not hear the abort
      reader?.cancel().catch(() => {});
    }, idleMs);
    const late = () => new Refusal(504, "upstream_idle", `the gateway was silent for ${idleMs} ms`);
    try {
      const piece = await reader?.read();
      if (isIdle) throw late();
      return piece?.value;
    } catch (error) {
      throw isIdle ? late() : error;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** A stream that takes from the gateway only what the client takes from it, and ends with the client. */
function pulled(
  { abort }: Upstream,
  onEnd: OnEnd,
  pull: (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<void>,
): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          await pull(controller);
        } catch (error) {
          onEnd("upstream_cut");
          abort();
          throw error;
        }
      },
      cancel() {
        onEnd("client_left");
        abort();
      },
    },
    { highWaterMark: 0 },
  );
}
