import {
  afterEnd,
  archiving,
  type MediaBucket,
  type MediaStoreOptions,
  mediaIndex,
  mediaStore,
  type ObjectNamespace,
  videoEvents,
  videoWatch,
  webhook,
} from "@sluice/durable";
import type { ProxyOptions } from "@sluice/worker-proxy";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import { count, counted, countedBucket } from "./counted.js";
import { gateway } from "./durable-gateway.js";

export interface CountedEnv {
  readonly COUNTED_WATCH: ObjectNamespace;
  readonly COUNTED_INDEX: ObjectNamespace;
  readonly COUNTED_MEDIA: MediaBucket;
}

/** Everything outside: the gateway, hosts of files and the app. */
const outside = async (request: Request): Promise<Response> => {
  count("outside");
  return gateway.answer(request);
};

const media: MediaStoreOptions<CountedEnv> = {
  bucket: (env) => countedBucket(env.COUNTED_MEDIA),
  index: (env) => env.COUNTED_INDEX,
  secret: () => "a secret for links, of 32 letters and more",
  archive: true,
};
export const files = mediaStore<CountedEnv>(media);
const way = { baseURL: "https://gateway.example", apiKey: () => KEY, fetch: outside };
const hook = webhook<CountedEnv>({
  url: () => "https://app.example/hook",
  secret: () => `whsec_${btoa("a secret of the app, 32 and more")}`,
  fetch: outside,
});
export const CountedIndex = counted(mediaIndex<CountedEnv>(media));
export const CountedWatch = counted(
  videoWatch<CountedEnv>({ ...way, onEnd: afterEnd([archiving(files), hook]) }),
);

export const options: ProxyOptions<CountedEnv> = {
  ...way,
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["beta3.0-video"],
  routes: ["videos"],
  mediaURLs: "any",
  secret: () => "a secret of the proxy's own, 32 and more",
  plugins: [videoEvents<CountedEnv>((env) => env.COUNTED_WATCH, { startOn: "create" })],
};
/** A proxy with all that costs, as the guides set it up. */
export const proxy = files.proxy(options);
