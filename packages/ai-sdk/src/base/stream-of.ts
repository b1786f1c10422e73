/**
 * Makes a stream of what a generator yields, one value for each read. An error of the generator ends the stream.
 *
 * @param abort ends what the generator waits for, when the stream is cancelled
 */
export function streamOf<Value>(
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
