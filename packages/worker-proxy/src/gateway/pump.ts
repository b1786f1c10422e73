import { Refusal } from "../refusal.js";
import { type Call, failed } from "./call.js";
import { openEventBytes } from "./event-bytes.js";
import { endOf, errorEvent, type StreamOptions } from "./relay.js";

/** So much of a stream is read at most before the platform takes over, in bytes. */
const HEAD_BYTES = 8 * 1024;

/**
 * Passes an event stream on by the platform's own pump, which costs a fraction of reading it. Only the head is read and
 * checked, up to its first event. Of the rest nothing is seen but a connection that breaks: then one more event, `error`,
 * is sent. Silence, and an end without `[DONE]`, are the client's to notice; `limits.totalMs` bounds both.
 */
export function pump(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { onFirstByte, onEnd, ...options }: StreamOptions,
): ReadableStream<Uint8Array> {
  const { readable, writable } = openPipe();
  const answer = openEventBytes(options);
  let isEnded = false;
  // a client that takes nothing holds back the pump's own report
  call.signal.addEventListener("abort", () => call.stopped && end(failed(call.stopped)));
  void pass();
  return readable;

  async function pass(): Promise<void> {
    let failure: Refusal | undefined;
    try {
      await passHead();
      const kept = { preventClose: true, preventAbort: true, signal: call.signal };
      if (!answer.isOver) await body.pipeTo(writable, kept);
    } catch (error) {
      failure = error instanceof Refusal ? error : failed("upstream_cut");
    }
    close(failure);
  }

  async function passHead(): Promise<void> {
    const reader = body.getReader();
    const writer = writable.getWriter();
    try {
      for (let size = 0; answer.events === 0 && size < HEAD_BYTES; ) {
        const { done, value } = await call.wait(() => reader.read(), "upstream_cut");
        if (size === 0) onFirstByte?.();
        const piece = done ? answer.end() : answer.push(value);
        if (piece) await writer.write(piece);
        if (done && options.isChat && !answer.isFinished) throw failed("upstream_cut");
        if (done) break;
        size += value.byteLength;
      }
      const rest = answer.rest();
      if (rest) await writer.write(rest);
    } finally {
      // a read that is under way when the call is stopped has failed with it
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  function close(failure: Refusal | undefined): void {
    // workerd keeps the lock of a pipe whose client has left
    const writer = writable.locked ? undefined : writable.getWriter();
    if (failure && writer?.desiredSize == null) call.stop("client_left");
    const cause = call.stopped ? failed(call.stopped) : failure;
    end(cause);
    if (cause && cause.code !== "client_left") writer?.write(errorEvent(cause)).catch(() => {});
    writer?.close().catch(() => {});
    call.close();
  }

  function end(failure: Refusal | undefined): void {
    if (isEnded) return;
    isEnded = true;
    onEnd(endOf(answer, failure));
  }
}

/** What the platform can connect without a step in JavaScript, where it has such a thing (workerd). */
function openPipe(): TransformStream<Uint8Array, Uint8Array> {
  const { IdentityTransformStream = TransformStream } = globalThis as {
    IdentityTransformStream?: typeof TransformStream;
  };
  return new IdentityTransformStream<Uint8Array, Uint8Array>();
}
