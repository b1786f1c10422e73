import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { streamLog } from "@sluice/durable";
import { createProxy, type ProxyOptions } from "@sluice/worker-proxy";
import { expect } from "vitest";
import { asked, chat } from "../../../worker-proxy/test/support/in-process.js";
import { expectNoKey, KEY } from "../../../worker-proxy/test/support/key.js";
import { gateway, ledger } from "./durable-gateway.js";

const { STREAM_LOG, PAID_STREAM_LOG } = env;

export type StreamObject = ReturnType<typeof STREAM_LOG.get>;

/** A proxy whose chat streams are logged, and paid for in their objects. */
export function openPaidProxy(options: Partial<ProxyOptions<unknown>> = {}) {
  return openProxy({ plugins: [ledger.meter, streamLog(() => PAID_STREAM_LOG)], ...options });
}

/** A proxy whose chat streams are logged. A bearer token is its user's name. */
export function openProxy(options: Partial<ProxyOptions<unknown>> = {}) {
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: ["https://app.example"],
    models: ["delta-5.3"],
    plugins: [streamLog(() => STREAM_LOG)],
    ...options,
  });
  const send = async (request: Request) => {
    const response = await proxy.fetch(request, {});
    expectNoKey([...response.headers].join("\n"));
    return response;
  };
  return {
    ask: (more: Parameters<typeof asked>[0] = {}) =>
      send(asked({ body: { ...chat, stream: true }, ...more })),
    resume: (id: string, after?: number | string, more: Parameters<typeof asked>[0] = {}) =>
      send(
        asked({
          method: "GET",
          path: `/v1/chat/streams/${id}`,
          ...more,
          headers: { ...more.headers, ...(after !== undefined && { "last-event-id": String(after) }) },
        }),
      ),
    stop: (id: string, more: Parameters<typeof asked>[0] = {}) =>
      send(asked({ method: "DELETE", path: `/v1/chat/streams/${id}`, ...more })),
  };
}

/** The id of an answer's stream. */
export function idOf(response: Response): string {
  const id = response.headers.get("x-stream-id") ?? "";
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  return id;
}

/** The object that has a stream of the user whose token it is. */
export async function objectOf(id: string, namespace = STREAM_LOG, token = "Bearer user-token") {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  const user = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return namespace.get(namespace.idFromName(`${user}:${id}`));
}

type Act = (controller: ReadableStreamDefaultController<Uint8Array>) => void;

/**
 * Lets the gateway answer with a stream that the test sends. What the object reads it has to make itself, and so it
 * asks, in its own time, for what the test wants: the platform lets no request touch the streams of another.
 */
export function liveAnswer() {
  const acts: Act[] = [];
  let hasLeft = false;
  gateway.answers(({ signal }) => {
    signal.addEventListener("abort", () => {
      hasLeft = true;
    });
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), {
      headers: { "content-type": "text/event-stream", "x-request-id": "gateway-1" },
    });
  });
  return {
    send: (text: string) => acts.push((controller) => controller.enqueue(new TextEncoder().encode(text))),
    end: () => acts.push((controller) => controller.close()),
    cut: () => acts.push((controller) => controller.error(new Error("connection lost"))),
    get hasLeft() {
      return hasLeft;
    },
  };

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (acts.length === 0 && !hasLeft) await turn();
    acts.shift()?.(controller);
  }
}

/** Lets everybody else have their turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

/** Lets the gateway answer with this stream, all at once. */
export function wholeAnswer(text: string): void {
  gateway.answers(() => new Response(text, { headers: { "content-type": "text/event-stream" } }));
}

const STORED = {
  stream: `SELECT ifnull((SELECT state FROM answer WHERE state <> 'open'), 'open') AS state, whole, asked, job
    FROM answer WHERE seq = 0`,
  events: "SELECT seq, bytes FROM answer WHERE seq > 0 ORDER BY seq",
};

/** Returns the rows that an object has of its stream, or of the stream's events, bytes as text. */
export function storedIn(
  object: StreamObject,
  part: keyof typeof STORED,
): Promise<Record<string, unknown>[]> {
  return runInDurableObject(object, (_, { storage }) =>
    storage.sql
      .exec(STORED[part])
      .toArray()
      .map((row) => ({
        ...row,
        ...(row["bytes"] instanceof ArrayBuffer && { bytes: new TextDecoder().decode(row["bytes"]) }),
      })),
  );
}
