import type { JobEvent } from "@sluice/worker-proxy";
import type { ObjectNamespace } from "@sluice/worker-proxy/durable";
import { type MediaBucket, mediaIndex, mediaStore } from "@sluice/worker-proxy/media";
import { gateway } from "./durable-gateway.js";
import { KEY } from "./key.js";

export interface FuzzedEnv {
  readonly FUZZED_INDEX: ObjectNamespace;
  readonly FUZZED_MEDIA: MediaBucket;
}

/** The events so far, and the call of the bucket that fails at present. */
export const told = { events: [] as JobEvent[], faulty: "" };

/** A bucket one of whose calls fails. */
const faulty = (bucket: MediaBucket) =>
  new Proxy(bucket, {
    get(target, name) {
      const call: unknown = Reflect.get(target, name);
      if (typeof call !== "function") return call;
      return name === told.faulty ? () => Promise.reject(new Error("the bucket is away")) : call.bind(target);
    },
  });

const media = {
  bucket: (env: FuzzedEnv) => faulty(env.FUZZED_MEDIA),
  index: (env: FuzzedEnv) => env.FUZZED_INDEX,
  secret: () => "a secret for links, of 32 letters and more",
  userBytes: 300_000,
  allBytes: 400_000,
  uploadBytes: 300_000,
  archive: { hosts: ["cdn.example"], maxBytes: 50_000, copyMs: 40, retryMs: 1000 },
  onEvent: (event: JobEvent) => void told.events.push(event),
};
export const store = mediaStore<FuzzedEnv>(media);
export const FuzzedIndex = mediaIndex<FuzzedEnv>(media);
export const proxy = store.proxy({
  baseURL: "https://gateway.example",
  apiKey: () => KEY,
  fetch: (request) => gateway.answer(request),
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["beta3.0-video"],
  routes: ["videos"],
  media: "any",
  secret: () => "a secret of the proxy's own, 32 and more",
});
