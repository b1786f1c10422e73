import { type Bucket, fileStore, resumableStreams, videoWatch } from "@sluice/durable";
import { cloudflareHost, type DurableObjectNamespace, durableObject } from "@sluice/durable/cloudflare";
import { createProxy } from "@sluice/worker-proxy";
import { options, type ProxyEnv } from "./proxy-options.ts";

/** Bindings, variables and secrets of the studio's Worker. */
interface Env extends ProxyEnv {
  readonly SLUICE: DurableObjectNamespace;
  readonly MEDIA: Bucket;
  /** Signs the links to files. */
  readonly FILES_SECRET: string;
}

/** Milliseconds between two polls of a video: the emulator's takes seconds instead of the usual minutes. */
const INTERVAL_MS = 2_000;

const proxy = createProxy<Env>({
  ...options,
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [
    // a page that is loaded again reads on
    resumableStreams<Env>(),
    // a video is watched to its end, also with no page open
    videoWatch<Env>({ intervalMs: INTERVAL_MS }),
    fileStore<Env>({
      bucket: (env) => env.MEDIA,
      secret: (env) => env.FILES_SECRET,
      // videos and images outlive the gateway's links; the emulator's are on this machine
      archive: { hosts: (env) => [new URL(env.GATEWAY_URL).host] },
    }),
  ],
});

/** The class of the objects, under the name that wrangler.jsonc binds. */
export const Sluice = durableObject<Env>(proxy);

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. */
export default proxy;
