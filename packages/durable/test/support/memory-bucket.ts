import type { Bucket, StoredFile, UploadedPart } from "../../src/buckets/bucket.js";

interface Held {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

type Call = "put" | "delete" | "complete" | "uploadPart" | "createMultipartUpload" | "abort";

/** Creates a bucket in memory. Its calls can fail or wait. */
export function createMemoryBucket() {
  const files = new Map<string, Held>();
  const uploads = new Map<string, { readonly type: string; readonly parts: Map<number, Held> }>();
  const failing = new Set<Call>();
  const gates = new Map<Call, Promise<void>>();
  let count = 0;

  async function enter(call: Call): Promise<void> {
    await gates.get(call);
    if (failing.has(call)) throw new Error(`the bucket refused ${call}`);
  }

  async function hold(body: ReadableStream<Uint8Array>, type: string): Promise<Held> {
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    count += 1;
    return { bytes, type, etag: `etag-${count}` };
  }

  function describe({ bytes, type, etag }: Held): StoredFile {
    return { size: bytes.length, httpEtag: `"${etag}"`, httpMetadata: { contentType: type } };
  }

  function openUpload(key: string, uploadId: string) {
    const getUpload = () => {
      const upload = uploads.get(uploadId);
      if (!upload) throw new Error("there is no such upload (10024)");
      return upload;
    };
    return {
      uploadId,
      async uploadPart(partNumber: number, body: ReadableStream<Uint8Array>): Promise<UploadedPart> {
        await enter("uploadPart");
        const part = await hold(body, "");
        getUpload().parts.set(partNumber, part);
        return { partNumber, etag: part.etag };
      },
      async complete(list: UploadedPart[]) {
        const { type, parts } = getUpload();
        const found = list.map(({ partNumber, etag }) => {
          const part = parts.get(partNumber);
          if (part?.etag !== etag) throw new Error("the part is another one by now");
          return part.bytes;
        });
        await enter("complete");
        files.set(key, await hold(new Blob(found).stream(), type));
        uploads.delete(uploadId);
      },
      async abort() {
        await enter("abort");
        if (!uploads.delete(uploadId)) throw new Error("there is no such upload (10024)");
      },
    };
  }

  const bucket: Bucket = {
    async put(key, body, { httpMetadata: { contentType } }) {
      await enter("put");
      files.set(key, await hold(body, contentType));
    },
    async get(key, { range }) {
      const file = files.get(key);
      if (!file) return null;
      const [, from = "0", to = ""] = /^bytes=(\d+)-(\d*)$/.exec(range.get("range") ?? "") ?? [];
      const part = file.bytes.subarray(Number(from), to === "" ? undefined : Number(to) + 1);
      return { ...describe(file), body: new Blob([part]).stream() };
    },
    async head(key) {
      const file = files.get(key);
      return file ? describe(file) : null;
    },
    async delete(keys) {
      await enter("delete");
      for (const key of keys) files.delete(key);
    },
    async createMultipartUpload(key, { httpMetadata: { contentType } }) {
      await enter("createMultipartUpload");
      count += 1;
      uploads.set(`upload-${count}`, { type: contentType, parts: new Map() });
      return openUpload(key, `upload-${count}`);
    },
    resumeMultipartUpload: openUpload,
  };

  return {
    bucket,
    keys: () => [...files.keys()],
    /** Bytes of all files, and of the parts of uploads that are neither whole nor aborted. */
    countBytes() {
      const parts = [...uploads.values()].flatMap((upload) => [...upload.parts.values()]);
      return [...files.values(), ...parts].reduce((sum, { bytes }) => sum + bytes.length, 0);
    },
    /** Number of uploads that are neither whole nor aborted. */
    countUploads: () => uploads.size,
    /** Lets all calls by this name fail. Returns a function that lets them succeed again. */
    fail(call: Call) {
      failing.add(call);
      return () => void failing.delete(call);
    },
    /** Lets calls by this name wait. Returns a function that lets them go on. */
    hold(call: Call) {
      let release = () => {};
      gates.set(
        call,
        new Promise((resolve) => {
          release = () => {
            gates.delete(call);
            resolve();
          };
        }),
      );
      return () => release();
    },
  };
}
