import { type ClientOptions, createClient } from "@sluice/core";
import { idempotency } from "@sluice/durable";
import { createEmulator } from "@sluice/emulator";
import { assets, createProxy, epsilon, images, type ProxyOptions, videos } from "@sluice/worker-proxy";
import { vi } from "vitest";
import { createObjectHost } from "./object-host.ts";

/* `idempotency()` from the client to the gateway: our client, our proxy, and its objects in this process. */

export const KEY = "sk-0123456789-of-the-gateway";
/** More than the time without a sign of its process after which a request is lost. */
const LOST_MS = 60_000;
export const origin = "https://app.example";
export const host = "https://proxy.example";

export type Send = (request: Request) => Promise<Response>;
/** The fate of a page's POST: it is never sent, its response is lost or cut, or the page dies while it waits. */
export type Fault = "unsent" | "lose" | "cut" | "kill" | undefined;

interface Opened {
  readonly gateway?: Send;
  readonly options?: Partial<ProxyOptions>;
}

interface PageOptions {
  readonly faults?: Fault[];
  readonly user?: string;
  readonly retries?: number;
  readonly send?: Send;
}

/** A proxy with `idempotency()`, before the emulator. */
export function openProxy({ gateway = createEmulator({ speed: Infinity }).fetch, options }: Opened = {}) {
  const bills: Request[] = [];
  const keys: (string | null)[] = [];
  const objects = createObjectHost();
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    fetch: toGateway,
    host: objects.host,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "nobody" }),
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    origins: [origin],
    models: {
      "beta3.0-video": {},
      "gamma-image-5-0-260128": {},
      "gamma-asset": { GroupId: ["g"] },
      epsilon: {},
    },
    routes: [images, videos, assets, epsilon],
    plugins: [idempotency()],
    ...options,
  });
  objects.use(proxy);
  const reach: Send = (sent) => proxy.fetch(sent);
  return { bills, keys, openPage, kill, reach };

  /** Loses the process that sends, and lets the time pass after which its requests count as lost. */
  function kill(): void {
    objects.kill();
    vi.setSystemTime(Date.now() + LOST_MS);
  }

  function toGateway(request: Request): Promise<Response> {
    if (request.method === "POST") bills.push(request.clone());
    return gateway(request);
  }

  /** Opens a page. Its network plays one of `faults` for each POST. */
  function openPage({ faults = [], user = "user-1", retries = 0, send = reach }: PageOptions = {}) {
    const { promise: killed, resolve: die } = createDeferred();
    const { promise: buried, resolve: bury } = createDeferred();
    const more: Partial<ClientOptions> = { random: () => 0, retry: { limit: retries } };
    const client = createClient({
      ...more,
      baseURL: host,
      headers: { authorization: user },
      gateway: { assetLookup: async () => ({ Status: "Active" }) },
      async fetch(sent) {
        if (sent.method !== "POST") return send(sent);
        keys.push(sent.headers.get("idempotency-key"));
        const fault = faults.shift();
        if (fault === "unsent") throw new TypeError("fetch failed");
        const response = await send(sent);
        if (fault === undefined) return response;
        if (fault === "cut") return cut(response);
        if (fault === "kill") {
          die();
          await buried;
        }
        throw new TypeError("fetch failed");
      },
    });
    return { client, killed, bury };
  }
}

export const reef = { model: "beta3.0-video", input: { prompt: "A reef" } } as const;
export const imageRequest = { model: "gamma-image-5-0-260128", prompt: "A reef" } as const;
export const asset = {
  model: "gamma-asset",
  GroupId: "g",
  Name: "n",
  AssetType: "Image",
  URL: "https://files.example/1.png",
} as const;

/** Returns the same response with a connection that breaks before its end. */
function cut({ status, headers }: Response): Response {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
  return new Response(body, { status, headers });
}

export function createDeferred() {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}
