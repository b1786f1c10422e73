import { type Bucket, type MultipartUpload, openFixedPipe } from "../buckets/bucket.js";

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
const NO_RANGE = { range: new Headers() };

/**
 * Declares the tests of the bucket features that `fileStore()` needs. The tests write about 100 MB, and delete it.
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
      const names: string[] = [];
      const bucket = await open();
      const name = (rest = "") => {
        names.push(`media/test-${crypto.randomUUID()}${rest}`);
        return names.at(-1) ?? "";
      };
      try {
        await run(bucket, name);
      } finally {
        await bucket.delete(names);
      }
    });
}

type Case = (bucket: Bucket, name: (rest?: string) => string) => Promise<void>;

const FILES: Readonly<Record<string, Case>> = {
  async "gives a file back with its bytes, its size and its type"(bucket, name) {
    const key = name();
    for (const size of [0, 1, 70_000]) {
      await bucket.put(key, createStream(createFile(size)), PNG);
      const found = await bucket.get(key, NO_RANGE);
      same(await readBytes(found?.body), createFile(size), "bytes");
      const head = await bucket.head(key);
      for (const facts of [found, head]) {
        same([facts?.size, facts?.httpMetadata?.contentType], [size, "image/png"], "size and type");
        same(/^"[^"]+"$/.test(facts?.httpEtag ?? ""), true, "an etag in quotes");
      }
      same(head?.httpEtag, found?.httpEtag, "the etag of a head");
    }
  },
  async "gives a part of a file, with the size of the whole"(bucket, name) {
    const key = name();
    await bucket.put(key, createStream(createFile(1000)), PNG);
    for (const [first, last] of [
      [0, 0],
      [10, 19],
      [0, 999],
      [990, 999],
    ] as const) {
      const found = await bucket.get(key, { range: new Headers({ range: `bytes=${first}-${last}` }) });
      same(found?.size, 1000, "the size");
      same(
        await readBytes(found?.body),
        createFile(1000).slice(first, last + 1),
        `bytes ${first} to ${last}`,
      );
    }
  },
  async "has nothing under a name that was never given, and deletes it without a fault"(bucket, name) {
    const key = name();
    same([await bucket.get(key, NO_RANGE), await bucket.head(key)], [null, null], "a file");
    await bucket.delete([key, name()]);
  },
  async "deletes the files that it is told, and no other one"(bucket, name) {
    const keys = [name(), name(), name()];
    for (const key of keys) await bucket.put(key, createStream(createFile(10)), PNG);
    await bucket.delete(keys.slice(1));
    const left = await Promise.all(keys.map((key) => bucket.head(key)));
    same(
      left.map((file) => file !== null),
      [true, false, false],
      "files",
    );
  },
  async "replaces a file as a whole, with another etag"(bucket, name) {
    const key = name();
    await bucket.put(key, createStream(createFile(100_000)), PNG);
    const before = await bucket.head(key);
    await bucket.put(key, createStream(createFile(50)), PNG);
    const after = await bucket.get(key, NO_RANGE);
    same(await readBytes(after?.body), createFile(50), "bytes");
    same(after?.httpEtag !== before?.httpEtag, true, "another etag");
  },
  async "has one of two files whole that are stored under one name at once"(bucket, name) {
    const key = name();
    const sizes = [200_000, 300_000];
    await Promise.all(sizes.map((size) => bucket.put(key, createStream(createFile(size)), PNG)));
    const found = await bucket.get(key, NO_RANGE);
    const bytes = await readBytes(found?.body);
    same(sizes.includes(bytes.byteLength), true, "one of the sizes");
    same(bytes, createFile(bytes.byteLength), "bytes");
  },
  async "keeps nothing of a file that breaks off, and the earlier one whole"(bucket, name) {
    const key = name();
    await fails(bucket.put(key, createStream(createFile(200_000), 150_000), PNG));
    same(await bucket.head(key), null, "a file");
    await bucket.put(key, createStream(createFile(10)), PNG);
    await fails(bucket.put(key, createStream(createFile(200_000), 150_000), PNG));
    same(await readBytes((await bucket.get(key, NO_RANGE))?.body), createFile(10), "bytes");
  },
  async "goes on after a reader that leaves"(bucket, name) {
    const key = name();
    await bucket.put(key, createStream(createFile(PART_BYTES)), PNG);
    const reader = (await bucket.get(key, NO_RANGE))?.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    same((await bucket.head(key))?.size, PART_BYTES, "the size");
  },
  async "tells names apart that differ in case alone"(bucket, name) {
    const base = name();
    const [lower, upper] = [`${base}a`, `${base}A`];
    await bucket.put(upper, createStream(createFile(10)), PNG);
    same(await bucket.head(lower), null, "a file of the other name");
    await bucket.delete([upper]);
  },
  async "refuses a name that leads elsewhere, or takes it for a name as any other"(bucket, name) {
    const key = name("-inside");
    await bucket.put(key, createStream(createFile(10)), PNG);
    const names = [
      `${name()}/../${key.slice(6)}`,
      "../outside",
      "/outside",
      "media/a\0b",
      "n".repeat(2000),
      "",
    ];
    for (const other of names) {
      const stored = await bucket.put(other, createStream(createFile(20)), PNG).then(
        () => true,
        () => false,
      );
      if (stored) same((await bucket.head(other))?.size, 20, `the file ${other}`);
      if (stored) await bucket.delete([other]);
    }
    same((await bucket.head(key))?.size, 10, "the file inside");
  },
};

const UPLOADS: Readonly<Record<string, Case>> = {
  async "has a file of parts once they are put together, and not before"(bucket, name) {
    const key = name();
    const bytes = createFile(2 * PART_BYTES + 1000);
    const { uploadId } = await bucket.createMultipartUpload(key, PNG);
    const parts = [];
    for (let at = 0; at < bytes.byteLength; at += PART_BYTES) {
      // each request finds the upload by its id
      const upload = bucket.resumeMultipartUpload(key, uploadId);
      parts.push(await upload.uploadPart(parts.length + 1, createStream(bytes.slice(at, at + PART_BYTES))));
      same(await bucket.head(key), null, "a file");
    }
    await bucket.resumeMultipartUpload(key, uploadId).complete(JSON.parse(JSON.stringify(parts)));
    const found = await bucket.get(key, NO_RANGE);
    same(found?.httpMetadata?.contentType, "image/png", "the type");
    same(await readBytes(found?.body), bytes, "bytes");
  },
  async "takes a part again that broke off, or that was stored and not noted"(bucket, name) {
    const key = name();
    const upload = await bucket.createMultipartUpload(key, PNG);
    const part = createFile(PART_BYTES);
    await upload.uploadPart(1, createStream(createFile(PART_BYTES - 7)));
    await fails(upload.uploadPart(1, createStream(part, 100_000)));
    const stored = await upload.uploadPart(1, createStream(part));
    await upload.complete([stored]);
    same(await readBytes((await bucket.get(key, NO_RANGE))?.body), part, "bytes");
  },
  async "leaves a file whole whose parts are put together twice"(bucket, name) {
    const key = name();
    const { upload, parts } = await begun(bucket, key);
    await Promise.allSettled([upload.complete(parts), upload.complete(parts)]);
    await upload.complete(parts).catch(() => {});
    same((await bucket.head(key))?.size, 1000, "the size");
  },
  async "keeps the earlier file until the parts of the next one are put together"(bucket, name) {
    const key = name();
    await bucket.put(key, createStream(createFile(10)), PNG);
    const { upload, parts } = await begun(bucket, key);
    same((await bucket.head(key))?.size, 10, "the size");
    await upload.complete(parts);
    same((await bucket.head(key))?.size, 1000, "the size");
  },
  async "has nothing of an upload that was ended, and ends it again without a fault"(bucket, name) {
    const key = name();
    const { upload, parts } = await begun(bucket, key);
    await upload.abort();
    await fails(upload.uploadPart(2, createStream(createFile(10))));
    await fails(upload.complete(parts));
    same(await bucket.head(key), null, "a file");
    // a bucket may reject a missing upload, but only with R2's error code
    await upload
      .abort()
      .catch((error: unknown) => same(String(error).includes("10024"), true, String(error)));
  },
  async "keeps the uploads of one name apart"(bucket, name) {
    const key = name();
    const [one, other] = [await begun(bucket, key), await begun(bucket, key)];
    await one.upload.abort();
    await other.upload.complete(other.parts);
    same((await bucket.head(key))?.size, 1000, "the size");
  },
};

/** Starts an upload with one part. */
async function begun(bucket: Bucket, key: string) {
  const upload: MultipartUpload = await bucket.createMultipartUpload(key, PNG);
  return { upload, parts: [await upload.uploadPart(1, createStream(createFile(1000)))] };
}

/** Creates a file with varying bytes, so that a lost byte changes the content. */
function createFile(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 1) bytes[at] = at * 31 + (at >> 8);
  return bytes;
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

async function readBytes(body: ReadableStream<Uint8Array> | undefined): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body ?? null).arrayBuffer());
}

/** @throws {Error} if both differ */
function same(found: unknown, expected: unknown, what: string): void {
  const areBytes = found instanceof Uint8Array && expected instanceof Uint8Array;
  const isSame = areBytes ? areEqual(found, expected) : JSON.stringify(found) === JSON.stringify(expected);
  const shown = (value: unknown) =>
    value instanceof Uint8Array ? `${value.byteLength} bytes` : JSON.stringify(value);
  if (!isSame) throw new Error(`${what}: ${shown(found)}, and not ${shown(expected)}`);
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  let at = 0;
  while (at < one.byteLength && one[at] === other[at]) at += 1;
  return at === one.byteLength && at === other.byteLength;
}

/** @throws {Error} if the work succeeds */
async function fails(work: Promise<unknown>): Promise<void> {
  const isDone = await work.then(
    () => true,
    () => false,
  );
  if (isDone) throw new Error("the bucket took what it has to refuse");
}
