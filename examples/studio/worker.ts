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

/** Milliseconds between two polls. A video of the emulator takes seconds, not minutes. */
const INTERVAL_MS = 2_000;

const proxy = createProxy<Env>({
  ...options,
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [
    // a reloaded page continues its stream
    resumableStreams<Env>(),
    // polls a video until it is done, even if no page is open
    videoWatch<Env>({ intervalMs: INTERVAL_MS }),
    fileStore<Env>({
      bucket: (env) => env.MEDIA,
      secret: (env) => env.FILES_SECRET,
      // stores videos and images, because links of the gateway expire
      archive: { hosts: (env) => [new URL(env.GATEWAY_URL).host] },
    }),
  ],
});

/** The Durable Object, by its name in wrangler.jsonc. */
export const Sluice = durableObject<Env>(proxy);

/** Handles requests to the gateway. The page's files are the `assets` of wrangler.jsonc. */
export default proxy;
