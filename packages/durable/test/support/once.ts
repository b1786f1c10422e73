import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { once } from "@sluice/durable";
import { createProxy, type ProxyOptions } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { asked } from "../../../worker-proxy/test/support/in-process.js";
import { KEY, read } from "../../../worker-proxy/test/support/key.js";
import { gateway, ledger } from "./durable-gateway.js";

export const SECRET = "a secret of the proxy's own, 32 and more";

/** A create of each kind: its path, its body, and what the gateway answers. */
export const creates = {
  image: [
    "/v1/images/generations",
    { model: "gamma-image-5-0-260128", prompt: "a bird" },
    { data: [{ url: "https://cdn.example/1.png" }], usage: { total_tokens: 7 } },
  ],
  video: [
    "/v1/video/generations",
    { model: "beta3.0-video", input: { prompt: "a bird" } },
    { id: "t-1", status: "queued", progress: 0 },
  ],
  asset: [
    "/gamma/asset/CreateAsset",
    {
      model: "gamma-asset",
      GroupId: "g",
      Name: "n",
      AssetType: "Image",
      URL: "https://files.example.com/1.png",
    },
    { Id: "a-1" },
  ],
  epsilon: [
    "/epsilon/v1/videos/text2video",
    { model_name: "epsilon", prompt: "a bird" },
    { code: 0, data: { task_id: "e-1", task_status: "submitted" } },
  ],
} as const;

type Kind = keyof typeof creates;

/** A request in place of the usual one: user-1 asks for an image. */
export interface AskedOnce {
  readonly kind?: Kind;
  readonly key?: string | undefined;
  readonly user?: string;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** A proxy whose creates are remembered. A bearer token is its user's name. */
export function openOnceProxy(options: Partial<ProxyOptions<unknown>> = {}, namespace = env.ONCE) {
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: ["https://app.example"],
    models: {
      "gamma-image-5-0-260128": {},
      "beta3.0-video": {},
      "gamma-asset": { GroupId: ["g"] },
      epsilon: {},
    },
    routes: ["images", "videos", "assets", "epsilon"],
    secret: () => SECRET,
    fetch: gateway.answer,
    plugins: [once(() => namespace)],
    ...options,
  });
  return {
    send: (request: Request) => proxy.fetch(request, {}),
    ask: async ({ kind = "image", key, user = "user-1", body, signal }: AskedOnce = {}) => {
      const [path, usual] = creates[kind];
      const headers = { authorization: user, ...(key !== undefined && { "idempotency-key": key }) };
      const request = asked({ path, headers, body: body ?? usual, ...(signal && { signal }) });
      return read(await proxy.fetch(request, {}));
    },
  };
}

/** A proxy with a meter, whose creates are remembered and paid for in their objects. */
export function openPaidOnce(options: Partial<ProxyOptions<unknown>> = {}) {
  return openOnceProxy({ plugins: [ledger.meter, once(() => env.PAID_ONCE)], ...options });
}

/** The object of a user's key. */
export async function objectOf(key: string, user = "user-1", namespace = env.ONCE) {
  return namespace.get(namespace.idFromName(`${await hashOf(user)}:${await hashOf(`${user}\n${key}`)}`));
}

/** The names of the tables of an object; an object without any has nothing stored. */
export async function tablesOf(key: string): Promise<readonly unknown[]> {
  return runInDurableObject(await objectOf(key), (_, { storage }) =>
    storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name IN ('requests', 'parts')")
      .toArray()
      .map(({ name }) => name),
  );
}

/** The gateway answers each create as its kind does. */
export function answersCreates(): void {
  gateway.answers((request) => {
    const { pathname } = new URL(request.url);
    const [, , answer] = Object.values(creates).find(([path]) => path === pathname) ?? [];
    return Response.json(answer, { headers: { "x-request-id": `gateway-${gateway.requests.length}` } });
  });
}
