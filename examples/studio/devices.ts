import { imageTool } from "@sluice/core";
import {
  type ConversationsOptions,
  conversations,
  conversationsObject,
  type ObjectNamespace,
  streamLog,
} from "@sluice/durable";
import { runner } from "@sluice/durable/runner";
import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";
import { options, type ProxyEnv } from "./studio-worker.ts";

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
    schedules: {},
  }),
  sharing: {},
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
  routes: ["chat", "images", "conversations"],
  extensions: [streamLog((env) => env.STREAM_LOG), conversations<DevicesEnv>(kept)],
});

/** Returns the name that a request is signed with; undefined for requests of the other rooms. */
export function nameIn({ headers }: Request): string | undefined {
  return /^Bearer ([\w%.-]{1,100})$/.exec(headers.get("authorization") ?? "")?.[1];
}
