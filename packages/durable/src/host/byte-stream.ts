/**
 * Makes a stream of the chunks of a source. The source goes on when its reader takes more.
 *
 * @param onEnd called once the stream has ended, failed or was left: the source must end then, too
 */
export function byteStream(
  chunks: AsyncGenerator<Uint8Array, void>,
  onEnd: (reason?: unknown) => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        let { done, value } = await chunks.next();
        // a stream of bytes takes no empty chunk
        while (!done && value?.byteLength === 0) ({ done, value } = await chunks.next());
        if (!done) return controller.enqueue(value as Uint8Array<ArrayBuffer>);
      } catch (error) {
        onEnd(error);
        throw error;
      }
      onEnd();
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel(reason) {
      onEnd(reason);
      // a source that waits ends by its signal
      chunks.return().catch(() => {});
    },
  });
}
