import type { ObjectNamespace, ObjectState } from "@sluice/durable";
import {
  type MediaBucket,
  type MultipartUpload,
  mediaIndex,
  mediaStore,
  type UploadedPart,
} from "@sluice/durable";
import type { JobEvent, ProxyOptions } from "@sluice/worker-proxy";
import { type Abortable, crash, step } from "./crash.js";
import { way } from "./durable-gateway.js";

export interface FuzzedEnv {
  readonly FUZZED_INDEX: ObjectNamespace;
  readonly FUZZED_MEDIA: MediaBucket;
}

/** The events so far, and the call of the bucket that fails at present. */
export const told = { events: [] as JobEvent[], faulty: "" };

/** The bytes of the parts of each multipart upload that is open in the bucket. */
export const parts = new Map<string, number>();

const failing = async (name: string, call: () => Promise<unknown>) => {
  if (name === told.faulty) throw new Error("the bucket is away");
  return await step(call);
};

/** A multipart upload whose parts are counted. */
function followed(upload: MultipartUpload): MultipartUpload {
  const { uploadId } = upload;
  const ended = (call: Promise<unknown>) => call.then(() => void parts.delete(uploadId));
  return {
    uploadId,
    uploadPart: (number, content) =>
      failing("uploadPart", async () => {
        const part = await upload.uploadPart(number, content);
        parts.set(uploadId, (parts.get(uploadId) ?? 0) + 1);
        return part;
      }) as Promise<UploadedPart>,
    complete: (list) => failing("complete", () => ended(upload.complete(list))),
    abort: () => failing("abort", () => ended(upload.abort())) as Promise<void>,
  };
}

/** A bucket one of whose calls fails, or at one of whose calls the process ends. */
const faulty = (bucket: MediaBucket): MediaBucket => ({
  put: (...given) => failing("put", () => bucket.put(...given)),
  get: (...given) => bucket.get(...given),
  head: (...given) => bucket.head(...given),
  delete: (keys) => failing("delete", () => bucket.delete(keys)) as Promise<void>,
  createMultipartUpload: async (...given) =>
    followed((await failing("create", () => bucket.createMultipartUpload(...given))) as MultipartUpload),
  resumeMultipartUpload: (...given) => followed(bucket.resumeMultipartUpload(...given)),
});

/** Indexes at one of whose requests the process ends. */
const crashing = (index: ObjectNamespace): ObjectNamespace => ({
  idFromName: (name) => index.idFromName(name),
  get: (id) =>
    ({
      fetch: (request: Request) =>
        step(async () => {
          const answer = await index.get(id).fetch(request);
          // read here: a body that nobody reads would keep the object from ending
          return new Response(await answer.text(), answer);
        }),
    }) as never,
});

const media = {
  bucket: (env: FuzzedEnv) => faulty(env.FUZZED_MEDIA),
  index: (env: FuzzedEnv) => crashing(env.FUZZED_INDEX),
  secret: () => "a secret for links, of 32 letters and more",
  userBytes: 300_000,
  allBytes: 400_000,
  uploadBytes: 300_000,
  archive: { hosts: ["cdn.example"], maxBytes: 50_000, copyMs: 40, retryMs: 1000 },
  onEvent: (event: JobEvent) => void told.events.push(event),
};
export const store = mediaStore<FuzzedEnv>(media);
export class FuzzedIndex extends mediaIndex<FuzzedEnv>(media) {
  constructor(state: ObjectState, env: FuzzedEnv) {
    super(state, env);
    crash.objects.add(state as ObjectState & Abortable);
  }
}
const options = {
  ...way,
  authenticate: ({ headers }: Request) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["beta3.0-video"],
  routes: ["videos"],
  mediaURLs: "any",
  secret: () => "a secret of the proxy's own, 32 and more",
} satisfies ProxyOptions<FuzzedEnv>;
export const proxy = store.proxy(options);
/** The same files, with space for those that are sent in parts. */
export const roomy = mediaStore<FuzzedEnv>({
  ...media,
  userBytes: 1e9,
  allBytes: 1e9,
  uploadBytes: 1e9,
}).proxy(options);
