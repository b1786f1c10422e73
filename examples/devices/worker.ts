import { type ObjectNamespace, streamLog, streamLogObject } from "@sluice/durable";
import { imageTool } from "@sluice/media";
import { type ConversationsOptions, conversations, conversationsObject, runner } from "@sluice/sync/server";
import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";

export interface Env {
  readonly GATEWAY_URL: string;
  readonly GATEWAY_API_KEY: string;
  readonly ORIGINS: string;
  readonly STREAM_LOG: ObjectNamespace;
  readonly CONVERSATIONS: ObjectNamespace;
}

const gateway = { baseURL: (env: Env) => env.GATEWAY_URL, apiKey: (env: Env) => env.GATEWAY_API_KEY };

const kept: ConversationsOptions<Env> = {
  namespace: (env) => env.CONVERSATIONS,
  // the turns run here: a page may close in the middle of one
  runner: runner<Env>({
    proxy: () => proxy,
    model: "delta-5.3",
    tools: ({ client }) => [imageTool(client, { model: "gamma-image-5-0-260128", needsApproval: true })],
  }),
};

export const StreamLog = streamLogObject<Env>({ ...gateway, namespace: (env) => env.STREAM_LOG });
export const Conversations = conversationsObject<Env>(kept);

/** The server, on Cloudflare (wrangler.jsonc) and in Node (server.ts). */
const proxy: GatewayProxy<Env> = createProxy<Env>({
  ...gateway,
  // A stand-in for your sign-in: it believes each name, without a password. Check a session or a token here.
  authenticate({ headers }) {
    const [, id] = /^Bearer ([\w%.-]{1,100})$/.exec(headers.get("authorization") ?? "") ?? [];
    return id === undefined ? null : { id };
  },
  origins: (env) => env.ORIGINS.split(" "),
  routes: ["chat", "images"],
  models: { "delta-5.3": { max_tokens: 4096 }, "gamma-image-5-0-260128": {} },
  plugins: [streamLog((env) => env.STREAM_LOG), conversations<Env>(kept)],
});
export default proxy;
