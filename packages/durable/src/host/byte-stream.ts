/** Makes a stream of the chunks of a source. The source goes on when its reader takes more. */
export function byteStream(chunks: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (!done) return controller.enqueue(value as Uint8Array<ArrayBuffer>);
      controller.close();
      controller.byobRequest?.respond(0);
    },
    cancel: () => void chunks.return(),
  });
}
