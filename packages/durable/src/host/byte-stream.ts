/** Callbacks for the stream of a generator. */
interface StreamEvents {
  /** Called when the generator fails. */
  onError(error: unknown): void;
  /** Called when the stream ends, fails or is canceled, so that the generator must end. */
  onEnd(reason?: unknown): void;
}

/** The identity stream of workerd, which passes chunks on without a queue and without a step in JavaScript. */
const { IdentityTransformStream } = globalThis as { IdentityTransformStream?: typeof TransformStream };

/** Makes a byte stream from chunks. The generator continues when its reader has read a chunk. */
export function createByteStream(
  chunks: AsyncGenerator<Uint8Array, void>,
  { onError, onEnd }: StreamEvents,
): ReadableStream<Uint8Array> {
  if (IdentityTransformStream) {
    const { readable, writable } = new IdentityTransformStream<Uint8Array, Uint8Array>();
    // a reader that has left makes the end of the stream fail
    writeChunks(chunks, writable.getWriter(), { onError, onEnd }).catch(() => {});
    return readable;
  }
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        let { done, value } = await chunks.next();
        // a byte stream rejects empty chunks
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
      // a generator that waits at an `await` ends through `onEnd`
      chunks.return().catch(onError);
    },
  });
}

/** Writes chunks, each once the previous one was read. */
async function writeChunks(
  chunks: AsyncGenerator<Uint8Array, void>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  { onError, onEnd }: StreamEvents,
): Promise<void> {
  try {
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      if (next.value.byteLength === 0) continue;
      const written = writer.write(next.value as Uint8Array<ArrayBuffer>).then(() => true);
      if (!(await written.catch(() => false))) {
        onEnd();
        return void (await chunks.return());
      }
    }
  } catch (error) {
    onError(error);
    onEnd(error);
    return await writer.abort(error);
  }
  onEnd();
  await writer.close();
}
