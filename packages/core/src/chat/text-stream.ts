import type { ChatDelta } from "./protocol/delta.js";
import { createAbortError } from "./protocol/stream-error.js";
import type { ChatStream } from "./stream.js";

/** Creates a stream of the response's text. Cancelling it aborts the request. */
export function createTextStream(deltas: ChatStream): ChatStream["textStream"] {
  /** Opened at the first read: an unread text stream leaves the deltas to a loop. */
  let iterator: AsyncIterator<ChatDelta, undefined> | undefined;
  const stream = new ReadableStream<string>(
    {
      async pull(controller) {
        iterator ??= deltas[Symbol.asyncIterator]();
        for (;;) {
          const { done, value } = await iterator.next();
          if (done) return controller.close();
          if (value.type === "text-delta") return controller.enqueue(value.text);
        }
      },
      async cancel() {
        if (iterator) await iterator.return?.();
        else deltas.abort(createAbortError("The text stream was cancelled"));
      },
    },
    { highWaterMark: 0 },
  );
  // Safari's streams are not iterable
  if (!(Symbol.asyncIterator in stream))
    Object.assign(stream, { [Symbol.asyncIterator]: () => createIterator(stream) });
  return stream as ChatStream["textStream"];
}

function createIterator(stream: ReadableStream<string>) {
  const reader = stream.getReader();
  return {
    next: () => reader.read(),
    return: () => reader.cancel().then(() => ({ done: true, value: undefined })),
  };
}
