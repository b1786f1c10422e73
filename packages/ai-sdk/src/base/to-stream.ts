/**
 * Converts a generator to a stream: each read pulls one value. An error of the generator fails the stream.
 *
 * @param abort ends the wait of the generator when the stream is cancelled
 */
export function toStream<Value>(
  values: AsyncGenerator<Value, void>,
  abort: () => void,
): ReadableStream<Value> {
  return new ReadableStream<Value>(
    {
      async pull(controller) {
        const { done, value } = await values.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        abort();
        await values.return();
      },
    },
    { highWaterMark: 0 },
  );
}
