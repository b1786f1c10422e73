import {
  createProxy,
  type ProxyContext,
  type ProxyEvent,
  type ProxyPlugin,
  type RequestEvent,
} from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { findGroups, type NamedOptions } from "./groups.js";
import { KEY, read } from "./key.js";

type Respond = (request: Request) => Response | Promise<Response>;
export interface Env {
  readonly KEY: string | undefined;
}

export const chat = { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] };
export const fine: Respond = () => Response.json({ id: "1" });

/** The proxy with a gateway of this same process, which records what reaches it. */
export function openProxy(options: NamedOptions<Env> = {}, respond: Respond = fine) {
  const reached: Request[] = [];
  const events: RequestEvent[] = [];
  const noteEvents = definePlugin({
    onEvent: (event: ProxyEvent) => event.type === "request" && events.push(event),
  });
  const { plugins = [], ...found } = findGroups(options);
  const create = (more: readonly ProxyPlugin<Env>[]) =>
    createProxy<Env>({
      baseURL: "https://gateway.example",
      apiKey: (env) => env.KEY,
      authenticate: ({ headers }) =>
        headers.get("authorization") === "Bearer user-token" ? { id: "user-1" } : null,
      origins: ["https://app.example"],
      models: {
        "alpha-v4.1-flash": {},
        "gamma-chat-1-6-251015": {},
        "delta-5.3": {},
        "beta3.0-video": {},
        "gamma-video-1-5-pro-251215": {},
        "gamma-video-2.0": {},
        "gamma-asset": { GroupId: ["g"] },
      },
      fetch: async (request) => {
        reached.push(request.clone() as Request);
        return respond(request);
      },
      ...found,
      plugins: [...plugins, ...more],
    });
  // a proxy without plugins also runs without the code for them, until a test reads its events
  const isPlain = plugins.length === 0 && !found.host;
  let proxy = create(isPlain ? [] : [noteEvents]);
  const send = (request: Request, env: Env = { KEY }, context?: ProxyContext) =>
    proxy.fetch(request, env, context);
  return {
    reached,
    /** The events of requests. */
    get events() {
      if (isPlain) proxy = create([noteEvents]);
      return events;
    },
    /** The body of a request that reached the gateway. */
    sent: async (at = 0) => (await (reached[at] as Request).clone().json()) as Record<string, unknown>,
    send,
    call: async (...args: Parameters<typeof send>) => read(await send(...args)),
  };
}

interface RequestFields {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Creates a chat request of a signed-in user. The fields given replace its own. */
export function createRequest({
  method = "POST",
  path = "/v1/chat/completions",
  headers,
  body = chat,
  signal,
}: RequestFields = {}) {
  return new Request(`https://proxy.example${path}`, {
    method,
    headers: {
      authorization: "Bearer user-token",
      "content-type": "application/json",
      ...headers,
    },
    ...(method === "POST" && { body: isRaw(body) ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

function isRaw(body: unknown): body is BodyInit {
  const kinds = [Uint8Array, ReadableStream];
  return typeof body === "string" || kinds.some((kind) => body instanceof kind);
}
