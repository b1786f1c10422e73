import { collectBytes, Refusal } from "@sluice/worker-proxy/plugin";
import { openFixedPipe } from "../../buckets/bucket.js";
import { HEAD_BYTES } from "./file-type.js";
import { refuseBucketFailure, refuseFile } from "./refusals.js";

/** The bytes of a file as they arrive. They are streamed: only the first bytes are held in memory. */
export interface FileBody {
  /** Size that the sender announced, in bytes. Fewer or more bytes are an error. */
  readonly length: number;
  /** Reads the first bytes, which identify the type. They remain part of the content. */
  readHead(): Promise<Uint8Array>;
  /**
   * Streams the whole content to `store`, with a known length.
   *
   * @throws {Refusal} 400 `upload_cut` if the content ends early or takes too long, 503 if `store` fails. A refusal of
   * `store` is rethrown
   */
  streamTo<T>(store: (bytes: ReadableStream<Uint8Array>) => Promise<T>): Promise<T>;
  /** Cancels the unread bytes. */
  cancel(): void;
}

/**
 * Opens the body of an upload.
 *
 * @param signal aborts reading
 * @throws {Refusal} 415 for another content type or a content encoding, 411 without a length or for an empty file
 */
export function openUploadBody({ body, headers }: Request, signal: AbortSignal): FileBody {
  // a content type that pages can send without a preflight would bypass CORS
  const isBytes = headers.get("content-type") === "application/octet-stream";
  if (!isBytes || headers.has("content-encoding")) throw refuseFile("upload_type");
  const length = Number(headers.get("content-length") ?? Number.NaN);
  if (!body || !Number.isSafeInteger(length) || length < 1) throw refuseFile("length_required");
  const content = body;
  const head = collectBytes();
  return { length, readHead, streamTo, cancel };

  async function readHead(): Promise<Uint8Array> {
    const reader = content.getReader();
    const endPendingRead = () => void reader.cancel(signal.reason).catch(() => {});
    signal.addEventListener("abort", endPendingRead);
    try {
      while (!signal.aborted && head.size < Math.min(HEAD_BYTES, length)) {
        const { done, value } = await reader.read();
        if (done) break;
        head.add(value);
      }
      signal.throwIfAborted();
    } catch (cause) {
      throw refuseFile("upload_cut", { cause });
    } finally {
      signal.removeEventListener("abort", endPendingRead);
      reader.releaseLock();
    }
    return head.view();
  }

  async function streamTo<T>(store: (bytes: ReadableStream<Uint8Array>) => Promise<T>): Promise<T> {
    const { readable, writable } = openFixedPipe(length);
    let hasStoreFailed = false;
    const cut = writeContent(writable).then(
      () => undefined,
      (cause: unknown) => (hasStoreFailed ? undefined : refuseFile("upload_cut", { cause })),
    );
    try {
      return await store(readable);
    } catch (cause) {
      // if the content breaks off, reading and `store` fail at about the same time: wait until reading has failed
      await new Promise((resolve) => setTimeout(resolve));
      // if `store` failed first, its failure ends the reading
      hasStoreFailed = !signal.aborted;
      readable.cancel().catch(() => {});
      if (cause instanceof Refusal) throw cause;
      throw (await cut) ?? refuseBucketFailure(cause);
    }
  }

  async function writeContent(writable: WritableStream<Uint8Array>): Promise<void> {
    const writer = writable.getWriter();
    if (head.size > 0) await writer.write(head.take());
    writer.releaseLock();
    await content.pipeTo(writable, { signal });
  }

  function cancel(): void {
    // `cancel` rejects for a broken body, which needs no cancel
    content.cancel().catch(() => {});
  }
}
