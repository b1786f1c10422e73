import { type Call, failed } from "./call.js";
import { errorBody, type Refusal } from "./refusal.js";

interface RelayOptions {
  /** How long the gateway may be silent while the client waits for more, in milliseconds. */
  readonly idleMs: number;
  /** The body is an event stream: it goes on line by line, is checked for a true end, and can say that it failed. */
  readonly isEvents: boolean;
  /** Called once, with the code of what went wrong or with nothing. */
  readonly onEnd: (code?: string) => void;
}

/**
 * Passes a body on as far as the client takes it, so that a slow client slows the gateway down and nothing piles up
 * here. Never `tee`: a second reader would drain, and pay for, what the client has left.
 *
 * Over HTTP a cut can look like an end. A JSON body that breaks off breaks the client's as well; an event stream
 * gets one more event, `error`, and never a `[DONE]` that the gateway did not send.
 */
export function relay(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { idleMs, isEvents, onEnd }: RelayOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const lines = openLines();
  call.signal.addEventListener("abort", () => {
    reader.cancel().catch(() => {}); // an answer made in this process does not hear the abort
    if (call.stopped === "client_left") onEnd(call.stopped); // nobody will pull again
  });
  return new ReadableStream({ pull, cancel: () => call.stop("client_left") }, { highWaterMark: 0 });

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const part = await call.wait(() => reader.read(), idleMs, "upstream_idle", "upstream_cut");
        if (part.done) break;
        const piece = isEvents ? lines.whole(part.value) : part.value;
        if (piece) return controller.enqueue(piece);
      }
      if (isEvents) {
        const rest = lines.rest();
        if (!lines.saidEnd()) throw failed("upstream_cut");
        if (rest.byteLength > 0) controller.enqueue(rest);
      }
      controller.close();
      onEnd();
    } catch (error) {
      fail(controller, error as Refusal);
    }
    call.close();
  }

  function fail(controller: ReadableStreamDefaultController<Uint8Array>, refusal: Refusal): void {
    onEnd(refusal.code);
    if (call.stopped === "client_left") return;
    if (!isEvents) return controller.error(refusal);
    // the blank line closes the event that may be open
    const event = `\n\nevent: error\ndata: ${errorBody(refusal)}\n\n`;
    controller.enqueue(new TextEncoder().encode(event));
    controller.close();
  }
}

const LINE_FEED = 10;
/** A line that does not end within this many bytes is passed on in pieces: memory stays bounded. */
const HELD_BYTES = 1024 * 1024;
/** Inside a JSON string quotes are escaped, so text that speaks of a `finish_reason` does not count as one. */
const END = /"finish_reason"\s*:\s*"|^data: ?\[DONE\]/m;

/**
 * Cuts a stream at its line ends. A line that breaks off is thus held back, and never passed on as if it were whole;
 * and what says that a stream is over is found without care for where the chunks were cut.
 */
function openLines() {
  const decoder = new TextDecoder("latin1");
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let isOver = false;
  return {
    whole(piece: Uint8Array): Uint8Array | undefined {
      const end = piece.lastIndexOf(LINE_FEED) + 1;
      held.push(end ? piece.subarray(0, end) : piece);
      heldBytes += piece.byteLength;
      if (end === 0 && heldBytes < HELD_BYTES) return undefined;
      const whole = take();
      if (end && end < piece.byteLength) {
        held.push(piece.slice(end));
        heldBytes = piece.byteLength - end;
      }
      return whole;
    },
    rest: take,
    saidEnd: () => isOver,
  };

  function take(): Uint8Array {
    // joined once, when the line is whole: joining at each piece would cost the square of a long line
    const whole = held.length === 1 && held[0] ? held[0] : joined(held);
    held = [];
    heldBytes = 0;
    isOver ||= END.test(decoder.decode(whole));
    return whole;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.byteLength;
  }
  return all;
}
