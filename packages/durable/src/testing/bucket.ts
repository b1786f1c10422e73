import { type Bucket, openFixedPipe } from "../buckets/bucket.js";
import { catchError, ensure, ensureSame } from "./assert.js";

/** A test runner and the bucket under test. */
export interface BucketTests {
  /** Opens the bucket. It may contain other files: the tests use unique names. */
  readonly open: () => Bucket | Promise<Bucket>;
  /** Declares a test: `test` of Vitest, Jest, Node, Deno or Bun. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
}

/** Size of a part, in bytes. S3 requires at least 5 MiB for each part except the last. */
const PART_BYTES = 8_388_608;
const PNG = { httpMetadata: { contentType: "image/png" } };

/**
 * Declares the tests of the bucket features that `fileStore()` needs. The tests write about 60 MB, and delete it.
 * @example
 * ```ts
 * import { folderBucket } from "@sluice/durable/node"; // or a bucket of your own
 * import { bucketTests } from "@sluice/durable/testing";
 * import { test } from "vitest";
 *
 * bucketTests({ open: () => folderBucket("test-files"), test });
 * ```
 */
export function bucketTests({ open, test }: BucketTests): void {
  for (const [title, run] of Object.entries({ ...FILES, ...UPLOADS }))
    test(`The bucket ${title}`, async () => {
      const bucket = await open();
      const name = `media/test-${crypto.randomUUID()}`;
      const names = [`${name}a`, `${name}A`, `${name}b`] as const;
      const put = (name: string, size: number, cutAt?: number) =>
        bucket.put(name, createStream(createFile(size), cutAt), PNG);
      const get = async (name: string, range?: string) => {
        const found = await bucket.get(name, { range: new Headers(range === undefined ? {} : { range }) });
        return new Uint8Array(await new Response(found?.body ?? null).arrayBuffer());
      };
      const readSize = async (name: string) => (await bucket.head(name))?.size;
      try {
        await run({ bucket, names, put, get, readSize });
      } finally {
        await bucket.delete([...names]);
      }
    });
}

/** Names of files. The second name differs from the first name only in case. */
type Names = readonly [string, string, string];

interface BucketCase {
  readonly bucket: Bucket;
  readonly names: Names;
  /** Stores a file of a size; a broken stream if `cutAt` is less. */
  put(name: string, size: number, cutAt?: number): Promise<unknown>;
  get(name: string, range?: string): Promise<Uint8Array>;
  readSize(name: string): Promise<number | undefined>;
}

type Cases = Readonly<Record<string, (given: BucketCase) => Promise<void>>>;

const FILES: Cases = {
  async "returns a file with its bytes, its size and its type"({ bucket, names: [name], put, get }) {
    for (const size of [0, 1, 70_000]) {
      await put(name, size);
      ensureSame(await get(name), createFile(size), "bytes");
      const found = await bucket.get(name, { range: new Headers() });
      await found?.body?.cancel();
      const head = await bucket.head(name);
      for (const file of [found, head])
        ensureSame([file?.size, file?.httpMetadata?.contentType], [size, "image/png"], "size and type");
      ensure(/^"[^"]+"$/.test(head?.httpEtag ?? ""), "the etag must be in quotes");
      ensureSame(head?.httpEtag, found?.httpEtag, "etag of head");
    }
  },
  async "returns a range of a file, with the size of the whole file"({ bucket, names: [name], put, get }) {
    await put(name, 1000);
    for (const [first, last] of [
      [0, 0],
      [10, 19],
      [0, 999],
    ] as const) {
      const range = `bytes=${first}-${last}`;
      ensureSame(await get(name, range), createFile(1000).slice(first, last + 1), range);
      const found = await bucket.get(name, { range: new Headers({ range }) });
      await found?.body?.cancel();
      ensureSame(found?.size, 1000, "size");
    }
  },
  async "deletes only the named files, and ignores missing files"({ bucket, names, put, readSize }) {
    const [first, other, missing] = names;
    for (const name of [first, other]) await put(name, 10);
    await bucket.delete([other, missing]);
    ensureSame(await Promise.all(names.map(readSize)), [10, undefined, undefined], "sizes");
    ensureSame(await bucket.get(missing, { range: new Headers() }), null, "missing file");
  },
  async "replaces a whole file, with another etag"({ bucket, names: [name], put, get }) {
    await put(name, 100_000);
    const before = await bucket.head(name);
    await Promise.all([put(name, 200_000), put(name, 300_000)]);
    const bytes = await get(name);
    ensure([200_000, 300_000].includes(bytes.byteLength), "the file must be one of both");
    ensureSame(bytes, createFile(bytes.byteLength), "bytes");
    ensure((await bucket.head(name))?.httpEtag !== before?.httpEtag, "the etag must change");
  },
  async "stores nothing of a file that breaks off, and keeps the earlier file"({
    names: [name],
    put,
    get,
    readSize,
  }) {
    await ensureFails(put(name, 200_000, 150_000));
    ensureSame(await readSize(name), undefined, "size");
    await put(name, 10);
    await ensureFails(put(name, 200_000, 150_000));
    ensureSame(await get(name), createFile(10), "bytes");
  },
  async "works after a reader has disconnected"({ bucket, names: [name], put, readSize }) {
    await put(name, PART_BYTES);
    const reader = (await bucket.get(name, { range: new Headers() }))?.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    ensureSame(await readSize(name), PART_BYTES, "size");
  },
};

const UPLOADS: Cases = {
  async "has a file of several parts only after its completion"({
    bucket,
    names: [name],
    put,
    get,
    readSize,
  }) {
    await put(name, 10);
    const bytes = createFile(2 * PART_BYTES + 1000);
    const { uploadId } = await bucket.createMultipartUpload(name, PNG);
    const parts = [];
    for (let at = 0; at < bytes.byteLength; at += PART_BYTES) {
      // each request finds the upload by its id
      const upload = bucket.resumeMultipartUpload(name, uploadId);
      const part = createStream(bytes.slice(at, at + PART_BYTES));
      parts.push(await upload.uploadPart(parts.length + 1, part));
    }
    ensureSame(await readSize(name), 10, "size before");
    await bucket.resumeMultipartUpload(name, uploadId).complete(JSON.parse(JSON.stringify(parts)));
    ensureSame((await bucket.head(name))?.httpMetadata?.contentType, "image/png", "type");
    ensureSame(await get(name), bytes, "bytes");
  },
  async "replaces a part that broke off, or that was stored but not recorded"({
    bucket,
    names: [name],
    get,
  }) {
    const upload = await bucket.createMultipartUpload(name, PNG);
    const part = createFile(PART_BYTES);
    await upload.uploadPart(1, createStream(createFile(PART_BYTES - 7)));
    await ensureFails(upload.uploadPart(1, createStream(part, 100_000)));
    await upload.complete([await upload.uploadPart(1, createStream(part))]);
    ensureSame(await get(name), part, "bytes");
  },
  async "keeps a file whole whose upload is completed twice"({ bucket, names: [name], readSize }) {
    const { upload, parts } = await begin(bucket, name);
    await Promise.allSettled([upload.complete(parts), upload.complete(parts)]);
    await upload.complete(parts).catch(() => {});
    ensureSame(await readSize(name), 1000, "size");
  },
  async "has nothing of an aborted upload, and keeps another upload of the same name"({
    bucket,
    names: [name],
    readSize,
  }) {
    const [{ upload, parts }, other] = [await begin(bucket, name), await begin(bucket, name)];
    await upload.abort();
    await ensureFails(upload.uploadPart(2, createStream(createFile(10))));
    await ensureFails(upload.complete(parts));
    ensureSame(await readSize(name), undefined, "size");
    // a bucket may reject a missing upload, but only with R2's error code
    await upload.abort().catch((error: unknown) => ensure(String(error).includes("10024"), String(error)));
    await other.upload.complete(other.parts);
    ensureSame(await readSize(name), 1000, "size");
  },
};

async function begin(bucket: Bucket, name: string) {
  const upload = await bucket.createMultipartUpload(name, PNG);
  return { upload, parts: [await upload.uploadPart(1, createStream(createFile(1000)))] };
}

/** Creates a file with varying bytes, so that a lost byte changes the content. */
function createFile(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(size).map((_, at) => at * 31 + (at >> 8));
}

/** Creates a stream like the streams of the store: of known length, in pieces. It breaks off at `cutAt`. */
function createStream(bytes: Uint8Array<ArrayBuffer>, cutAt = bytes.byteLength): ReadableStream<Uint8Array> {
  const { readable, writable } = openFixedPipe(bytes.byteLength);
  const writer = writable.getWriter();
  const write = async () => {
    for (let at = 0; at < cutAt; at += 65_536)
      await writer.write(bytes.slice(at, Math.min(at + 65_536, cutAt)));
    await (cutAt < bytes.byteLength ? writer.abort(new Error("the file broke off")) : writer.close());
  };
  // the bucket may stop reading, which aborts the stream
  write().catch(() => {});
  return readable;
}

async function ensureFails(work: Promise<unknown>): Promise<void> {
  ensure((await catchError(work)) !== undefined, "the bucket accepted what it must refuse");
}
