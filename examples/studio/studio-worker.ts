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
import { webPush } from "@sluice/durable/push";
import type { GatewayProxy } from "@sluice/worker-proxy";
import { type Env as CommonEnv, options } from "./options.ts";

/** Bindings, variables and secrets of the studio's Worker. */
export interface Env extends CommonEnv {
  readonly STREAM_LOG: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  readonly MEDIA: MediaBucket;
  readonly MEDIA_INDEX: ObjectNamespace;
  /** Signs the links to files. */
  readonly FILES_SECRET: string;
  readonly PUSH_SUBSCRIPTIONS: ObjectNamespace;
  /** Absent where no pushes are sent. */
  readonly VAPID_PUBLIC_KEY?: string;
  /** Signs the notifications. */
  readonly VAPID_PRIVATE_KEY?: string;
  /** Milliseconds between two polls of a video, where it takes less than the usual minutes. */
  readonly VIDEO_INTERVAL_MS?: string;
}

/** Place at which a Worker of the studio stands. */
interface Place {
  /** Address of the page, where it is no root of a host: links to files are below it. @default the root */
  readonly publicURL?: string;
  /** Host of the gateway's files. @default that of the gateway */
  readonly filesHost?: string;
}

/** Creates the Worker of the studio: the classes of its objects, and the proxy that they stand behind. */
export function createStudioWorker({ publicURL, filesHost }: Place = {}) {
  const media: MediaStoreOptions<Env> = {
    bucket: (env) => env.MEDIA,
    index: (env) => env.MEDIA_INDEX,
    secret: (env) => env.FILES_SECRET,
    // films and images outlive the gateway's links; the emulator's are on this machine
    archive: { hosts: (env) => [filesHost ?? new URL(env.GATEWAY_URL).host] },
    ...(publicURL && { publicURL }),
  };
  const files = mediaStore<Env>(media);
  const push = webPush<Env>({
    subscriptions: (env) => env.PUSH_SUBSCRIPTIONS,
    vapid: (env) => ({
      publicKey: env.VAPID_PUBLIC_KEY ?? "",
      privateKey: env.VAPID_PRIVATE_KEY ?? "",
      subject: "mailto:studio@example.com",
    }),
  });
  const extensions = [
    streamLog<Env>((env) => env.STREAM_LOG),
    videoEvents<Env>((env) => env.VIDEO_WATCH, { startOn: "create" }),
  ];
  const proxy = files.proxy({ ...options, extensions });
  const pushingProxy = files.proxy({ ...options, extensions: [...extensions, push] });
  return {
    /** Keeps each answer, so that a page that is loaded again reads on. */
    StreamLog: streamLogObject<Env>({ ...options, namespace: (env) => env.STREAM_LOG }),
    /** Counts the files of users, copies those of the gateway, and deletes them when their time is over. */
    MediaIndex: mediaIndex<Env>(media),
    /** Sends the notifications to the browsers of a user. */
    PushSubscriptions: push.PushSubscriptions,
    /**
     * Watches each video task from its create to its end, also with no page open. Then it has the film copied, and tells
     * the user's browsers.
     */
    VideoWatch: videoWatch<Env>({
      ...options,
      intervalMs: ({ VIDEO_INTERVAL_MS = "15000" }) => Number(VIDEO_INTERVAL_MS),
      namespace: (env) => env.VIDEO_WATCH,
      onEnd: afterEnd([archiving(files), push]),
    }),
    /** Serves the gateway. Without VAPID keys it has no pushes: an open tab shows the notifications. */
    fetch(request: Request, env?: Env, context?: Parameters<GatewayProxy<Env>["fetch"]>[2]) {
      const isPushing = env?.VAPID_PUBLIC_KEY && env.VAPID_PRIVATE_KEY;
      return (isPushing ? pushingProxy : proxy).fetch(request, env, context);
    },
  };
}
