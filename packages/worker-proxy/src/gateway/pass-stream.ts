import { openPipe } from "../base/bytes.js";
import { formatErrorEvent, Refusal } from "../refusals/refusal.js";
import { createFailure } from "./call.js";
import type { Exchange } from "./exchange.js";
import { containsKey } from "./key.js";

/** Maximum length of the head of a stream, which is read before the platform takes over, in characters. */
const HEAD_CHARACTERS = 8 * 1024;
/** A whole event, which comments are not. */
const EVENT = /^(?:data|event|error)\b[\s\S]*?(?:\n\r?\n|\r\r)/m;
/** The end of an event or a comment. */
const BLANK_LINE = /(?:\n\r?\n|\r\r)$/;
/** The end of a chat with its blank line, which completes the event for a client. */
const DONE = /^data: ?\[DONE\][^\r\n]*(?:\r?\n\r?\n|\r\r)/m;

/** Time to wait for the end of the gateway's connection after the end of the response, in milliseconds. */
const GRACE_MS = 2000;
/** A character that two pieces share is decoded wrong: keys and `[DONE]` have only characters of one byte. */
const utf8 = new TextDecoder();

interface StreamOptions {
  /** True for a chat, which ends with `[DONE]`. Any other stream ends with its last byte. */
  readonly isChat: boolean;
  /** Called when the stream is over, with the `error.code` of what went wrong, if anything did. Only the first call counts. */
  readonly onEnd: (code?: string) => void;
}

/**
 * Passes an event stream on by the platform's own pump, which costs a fraction of reading it. Only the head is read and
 * checked, up to its first event. Of the rest only a connection that breaks is noticed: then one more event, `error`, is
 * sent. Silence, and an end without `[DONE]`, are the client's to notice; `timeout.totalMs` bounds both.
 */
export function passStream(
  { call, keys, report }: Pick<Exchange<never>, "call" | "keys" | "report">,
  body: ReadableStream<Uint8Array>,
  { isChat, onEnd }: StreamOptions,
): ReadableStream<Uint8Array> {
  const { readable, writable } = openPipe();
  let head = "";
  /** True once the whole response has passed. */
  let isWhole = false;
  // a client that reads nothing holds back the pump's own report
  call.onAbort = () => call.stopped && onEnd(isWhole ? undefined : call.stopped);
  pass().catch((error) => {
    end(error instanceof Refusal ? error : createFailure("upstream_cut"));
    call.close();
  });
  return readable;

  async function pass(): Promise<void> {
    isWhole = await passHead();
    if (isChat) report.head = head;
    // the gateway's connection can be used again once its end is read
    if (isWhole) call.limit({ ms: GRACE_MS, late: "upstream_idle" });
    await body.pipeTo(writable, { preventClose: true, preventAbort: true, signal: call.signal });
    end();
    call.close(true);
  }

  /** Returns true if nothing of the response follows. */
  async function passHead(): Promise<boolean> {
    const reader = body.getReader();
    const writer = writable.getWriter();
    const held: Uint8Array[] = [];
    try {
      for (;;) {
        const { done, value } = await call.wait(() => reader.read(), "upstream_cut");
        report.onFirstByte?.();
        // a copy: a piece of one byte may have a buffer of 4 KB
        if (value) held.push(value.slice());
        if (value) head += utf8.decode(value);
        // a client may take the lines of an event for one text
        if (containsKey(head.replace(/[\r\n]+data: ?/g, ""), keys)) throw new Refusal("upstream_type");
        const isOver = isChat ? DONE.test(done ? `${head}\n\n` : head) : done;
        if (done && !isOver) throw createFailure("upstream_cut");
        const isRead = isOver || head.length >= HEAD_CHARACTERS || EVENT.test(head);
        // not waited for: what follows queues behind them, and fails with them
        if (isRead || BLANK_LINE.test(head))
          for (const piece of held.splice(0)) writer.write(piece).catch(() => {});
        if (isRead) return isOver;
      }
    } finally {
      // a stopped call has ended its pending read
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  function end(failure?: Refusal): void {
    // workerd keeps the lock of a pipe whose client has left
    const writer = writable.locked ? undefined : writable.getWriter();
    if (failure && writer?.desiredSize == null) call.stop("client_left");
    const stopped = call.stopped ? createFailure(call.stopped) : failure;
    const cause = isWhole ? undefined : stopped;
    onEnd(cause?.reason);
    if (cause && cause.reason !== "client_left") writer?.write(formatErrorEvent(cause)).catch(() => {});
    writer?.close().catch(() => {});
  }
}
