import { connect } from "node:net";
import { bundle } from "./bundle.js";
import { expectNoKey, KEY, read } from "./key.js";
import { startMiniflare } from "./miniflare.js";
import { SECRET } from "./sign.js";
import { startUpstream } from "./upstream.js";

interface Choice {
  /** Options of the proxy that can be written as JSON. */
  readonly options?: object;
  readonly keys?: readonly string[];
  /** Number of requests that the platform's own rate limiter lets through in a minute. */
  readonly requestsPerMinute?: number;
}

/**
 * The proxy in a real workerd, between real sockets. Wrangler's test harness has Node on both sides of it, which
 * tidies paths, follows redirects and keeps connections that the Worker gave up: here the sockets lead straight to it.
 */
export async function startProxy({ options = {}, keys = [KEY], requestsPerMinute }: Choice = {}) {
  const upstream = await startUpstream();
  const logs: string[] = [];
  let logged = () => {};
  const addLine = (line: string) => {
    logs.push(line);
    logged();
  };
  const worker = async (name: string) => ({
    name,
    modules: [
      {
        type: "ESModule",
        path: `${name}.js`,
        contents: await bundle(`worker-proxy/test/fixture/${name}.ts`),
      },
    ],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["enable_request_signal"],
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  });
  const running = {
    handleStructuredLogs: ({ message }: { message: string }) => addLine(message),
    workers: [
      {
        ...(await worker("worker")),
        bindings: {
          UPSTREAM: upstream.url,
          GATEWAY_API_KEY: keys,
          PROXY_SECRET: SECRET,
          OPTIONS: options,
        },
        ...(requestsPerMinute && {
          ratelimits: {
            RATE_LIMITER: { namespace_id: "1", simple: { limit: requestsPerMinute, period: 60 } },
          },
        }),
      },
      {
        ...(await worker("caller")),
        bindings: { UPSTREAM: upstream.url },
        serviceBindings: { PROXY: "worker" },
      },
    ],
  };
  const miniflare = startMiniflare(running);
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL("worker");
  const caller = await miniflare.unsafeGetDirectURL("caller");
  const { hostname, port } = url;

  let requestCount = 0;
  const send = (body: unknown = chat, init: RequestInit = {}, path = "/v1/chat/completions") => {
    requestCount += 1;
    return fetch(new URL(path, url), {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
      headers: { ...user, "content-type": "application/json", ...(init.headers as object) },
    });
  };

  /** Returns the events that `onEvent` got, once there are `count`. */
  async function events(count: number): Promise<Record<string, unknown>[]> {
    for (;;) {
      const events = logs.filter((line) => line.startsWith("{"));
      if (events.length >= count) return events.map((line) => JSON.parse(line));
      await new Promise<void>((resolve) => {
        logged = resolve;
      });
    }
  }

  return {
    url,
    upstream,
    /** A chat request of a signed-in user, with what `init` changes. */
    send,
    call: async (...request: Parameters<typeof send>) => read(await send(...request)),
    /** Counts a request that the test sends itself, so that its event is waited for. */
    expectRaw() {
      requestCount += 1;
    },
    raw: (text: string) => sendText(hostname, Number(port), text),
    /** Lets a Worker send this chat to the proxy and leave before the response. */
    sendAndLeave(body: unknown) {
      requestCount += 1;
      return fetch(caller, { method: "POST", body: JSON.stringify(body), headers: { ...user, ...json } });
    },
    events,
    /** Waits for the events of all requests, and clears them for the next test. */
    async forget() {
      await events(requestCount);
      expectNoKey(logs.join("\n"));
      requestCount = 0;
      logs.length = 0;
      upstream.respondWith();
    },
    async close() {
      expectNoKey(logs.join("\n"));
      await miniflare.dispose();
      upstream.close();
    },
  };
}

const json = { "content-type": "application/json" };
export const chat = { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] };
export const user = { authorization: "Bearer user-token" };

/** Writes a text to a socket, and reads the response until the server closes it. */
function sendText(host: string, port: number, text: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(text));
    let response = "";
    socket.setEncoding("latin1");
    socket.on("data", (data) => {
      response += data;
    });
    socket.on("error", reject);
    socket.on("close", () => {
      expectNoKey(response);
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]), text: response });
    });
  });
}
