import {
  afterEnd,
  archiving,
  type MediaBucket,
  type MediaStoreOptions,
  mediaIndex,
  mediaStore,
  type ObjectNamespace,
  streamLog,
  streamLogObject,
  videoEvents,
  videoWatch,
} from "@sluice/durable";
import type { GatewayProxy } from "@sluice/worker-proxy";
import { options, type ProxyEnv } from "./proxy-options.ts";

/** Bindings, variables and secrets of the studio's Worker. */
export interface Env extends ProxyEnv {
  readonly STREAM_LOG: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  readonly MEDIA: MediaBucket;
  readonly MEDIA_INDEX: ObjectNamespace;
  /** Signs the links to files. */
  readonly FILES_SECRET: string;
  /** Milliseconds between two polls of a video, where it takes less than the usual minutes. */
  readonly VIDEO_INTERVAL_MS?: string;
}

/** Creates the Worker of the studio: the classes of its objects, and the proxy that they stand behind. */
export function createStudioWorker() {
  const media: MediaStoreOptions<Env> = {
    bucket: (env) => env.MEDIA,
    index: (env) => env.MEDIA_INDEX,
    secret: (env) => env.FILES_SECRET,
    // films and images outlive the gateway's links; the emulator's are on this machine
    archive: { hosts: (env) => [new URL(env.GATEWAY_URL).host] },
  };
  const files = mediaStore<Env>(media);
  const plugins = [
    ...options.plugins,
    streamLog<Env>((env) => env.STREAM_LOG),
    videoEvents<Env>((env) => env.VIDEO_WATCH, { startOn: "create" }),
  ];
  const proxy = files.proxy({ ...options, plugins });
  return {
    /** Keeps each answer, so that a page that is loaded again reads on. */
    StreamLog: streamLogObject<Env>({ ...options, namespace: (env) => env.STREAM_LOG }),
    /** Counts the files of users, copies those of the gateway, and deletes them when their time is over. */
    MediaIndex: mediaIndex<Env>(media),
    /** Watches each video task from its create to its end, also with no page open. Then it has the film copied. */
    VideoWatch: videoWatch<Env>({
      ...options,
      intervalMs: ({ VIDEO_INTERVAL_MS = "15000" }) => Number(VIDEO_INTERVAL_MS),
      namespace: (env) => env.VIDEO_WATCH,
      onEnd: afterEnd([archiving(files)]),
    }),
    /** Serves the gateway. */
    fetch: (request: Request, env?: Env, context?: Parameters<GatewayProxy<Env>["fetch"]>[2]) =>
      proxy.fetch(request, env, context),
  };
}
