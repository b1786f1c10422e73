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
import { imageTool } from "@sluice/media";
import { type ConversationsOptions, conversations, conversationsObject, runner } from "@sluice/sync/server";
import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";
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

/** Bindings of the part for the room "Devices". */
export interface DevicesEnv extends ProxyEnv {
  readonly STREAM_LOG: ObjectNamespace;
  readonly CONVERSATIONS: ObjectNamespace;
}

const kept: ConversationsOptions<DevicesEnv> = {
  namespace: (env) => env.CONVERSATIONS,
  // the turns run here: all devices may close in the middle of one
  runner: runner<DevicesEnv>({
    proxy: () => devicesProxy,
    model: "delta-5.3",
    tools: ({ client }) => [imageTool(client, { model: "gamma-image-5-0-260128", needsApproval: true })],
  }),
};

/** Keeps the conversations of the room "Devices", and does their turns. */
export const Conversations = conversationsObject<DevicesEnv>(kept);

/**
 * The proxy of users with a name; the rest of the studio has none. The room's sign-in is a stand-in: each name is
 * believed. A page elsewhere checks a session or a token here.
 */
export const devicesProxy: GatewayProxy<DevicesEnv> = createProxy<DevicesEnv>({
  ...options,
  authenticate(request) {
    const id = nameIn(request);
    return id === undefined ? null : { id, name: id };
  },
  routes: ["chat", "images"],
  plugins: [streamLog((env) => env.STREAM_LOG), conversations<DevicesEnv>(kept)],
});

/** Returns the name that a request is signed with; undefined for requests of the other rooms. */
export function nameIn({ headers }: Request): string | undefined {
  return /^Bearer ([\w%.-]{1,100})$/.exec(headers.get("authorization") ?? "")?.[1];
}
