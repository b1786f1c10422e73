import type { ChatDelta } from "./protocol/delta.js";

/** The text of an answer as a stream of strings; cancelling it leaves the loop and so aborts the request. */
export function textStreamOf(deltas: AsyncIterable<ChatDelta>): ReadableStream<string> {
  const iterator = deltas[Symbol.asyncIterator]();
  return new ReadableStream<string>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await iterator.next();
          if (done) return controller.close();
          if (value.type === "text-delta") return controller.enqueue(value.text);
        }
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
