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
import { type Env as CommonEnv, options } from "./options.js";

interface Env extends CommonEnv {
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

/** Keeps each answer, so that a page that is loaded again reads on. */
export const StreamLog = streamLogObject<Env>({ ...options, namespace: (env) => env.STREAM_LOG });

const media: MediaStoreOptions<Env> = {
  bucket: (env) => env.MEDIA,
  index: (env) => env.MEDIA_INDEX,
  secret: (env) => env.FILES_SECRET,
  // films and images outlive the gateway's links; the emulator's are on this machine
  archive: { hosts: (env) => [new URL(env.GATEWAY_URL).host] },
};

/** Counts the files of users, copies those of the gateway, and deletes them when their time is over. */
export const MediaIndex = mediaIndex<Env>(media);

const files = mediaStore<Env>(media);

const push = webPush<Env>({
  subscriptions: (env) => env.PUSH_SUBSCRIPTIONS,
  vapid: (env) => ({
    publicKey: env.VAPID_PUBLIC_KEY ?? "",
    privateKey: env.VAPID_PRIVATE_KEY ?? "",
    subject: "mailto:studio@example.com",
  }),
});

/** Sends the notifications to the browsers of a user. */
export const { PushSubscriptions } = push;

/**
 * Watches each video task from its create to its end, also with no page open. Then it has the film copied, and tells the
 * user's browsers.
 */
export const VideoWatch = videoWatch<Env>({
  ...options,
  intervalMs: ({ VIDEO_INTERVAL_MS = "15000" }) => Number(VIDEO_INTERVAL_MS),
  namespace: (env) => env.VIDEO_WATCH,
  onEnd: afterEnd([archiving(files), push]),
});

const extensions = [
  streamLog<Env>((env) => env.STREAM_LOG),
  videoEvents<Env>((env) => env.VIDEO_WATCH, { startOn: "create" }),
];
const proxy = files.proxy({ ...options, extensions });
const pushingProxy = files.proxy({ ...options, extensions: [...extensions, push] });

/**
 * Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. Without VAPID keys it has
 * no pushes: an open tab shows the notifications.
 */
export default {
  fetch(request, env, context) {
    const isPushing = env?.VAPID_PUBLIC_KEY && env.VAPID_PRIVATE_KEY;
    return (isPushing ? pushingProxy : proxy).fetch(request, env, context);
  },
} satisfies typeof proxy;
