/** What happens to the stream of a source. */
export interface StreamEvents {
  /** The source has failed. */
  onError(error: unknown): void;
  /** The stream is over, failed, or its reader has left: the source must end, too. */
  onEnd(reason?: unknown): void;
}

/** Makes a stream of the chunks of a source. The source goes on when its reader takes more. */
export function byteStream(
  chunks: AsyncGenerator<Uint8Array, void>,
  { onError, onEnd }: StreamEvents,
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
        onError(error);
        onEnd(error);
        return controller.error(error);
      }
      onEnd();
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel(reason) {
      onEnd(reason);
      // a source that waits ends by its signal
      chunks.return().catch(onError);
    },
  });
}
