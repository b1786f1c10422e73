import { type ClientOptions, createClient, streamResumption } from "@sluice/core";
import { resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { chat, createProxy } from "@sluice/worker-proxy";
import { onTestFinished } from "vitest";

const KEY = "sk-gateway-0123456789";
const CHAT = "/v1/chat/completions";

/** A response that the test writes chunk by chunk. */
export interface Written {
  write(text: string): void;
  end(): void;
  /** Breaks the connection. */
  cut(): void;
  /** True once the gateway's client has disconnected. */
  readonly isDisconnected: boolean;
  /** True once the response is closed. */
  readonly isEnded: boolean;
}

const toFrame = (choice: object) =>
  `data: ${JSON.stringify({ id: "a", model: "delta-5.3", choices: [choice] })}\n\n`;
export const toTextFrame = (content: string) => toFrame({ index: 0, delta: { content } });
export const toCallFrame = (name: string, input: object) =>
  toFrame({
    index: 0,
    delta: {
      tool_calls: [
        { index: 0, id: "call-1", type: "function", function: { name, arguments: JSON.stringify(input) } },
      ],
    },
  });
export const toEndFrames = (reason = "stop") =>
  `${toFrame({ index: 0, delta: {}, finish_reason: reason })}data: [DONE]\n\n`;

/** Options of a page. */
export interface PageOptions extends Pick<ClientOptions, "clock" | "onEvent" | "random"> {
  /** True if no response to a chat request reaches the page, not even its headers. @default false */
  readonly losesResponses?: boolean;
  /** Number of first responses to chat requests that are lost with their connection. @default 0 */
  readonly lost?: number;
}

/** The gateway behind a proxy that stores streams, and pages in front of it. */
export function createScenario({
  emulator,
  storesStreams = true,
}: {
  emulator?: EmulatorOptions;
  storesStreams?: boolean;
} = {}) {
  const gateway = createEmulator({ speed: Infinity, apiKeys: [KEY], ...emulator });
  /** Bodies of the chat requests that reached the gateway. */
  const chatRequests: Record<string, unknown>[] = [];
  const stopped: string[] = [];
  const written: Written[] = [];
  let isByHand = false;
  const over = new AbortController();
  onTestFinished(() => {
    over.abort(new Error("the test is over"));
    for (const { end, isEnded } of written) if (!isEnded) end();
  });

  const fetchGateway = async (request: Request): Promise<Response> => {
    if (new URL(request.url).pathname !== CHAT) return gateway.fetch(request);
    chatRequests.push(await request.clone().json());
    return isByHand ? respondByHand(request) : gateway.fetch(request);
  };
  const upstream = { baseURL: "https://gateway.test", apiKey: () => KEY, fetch: fetchGateway };
  const host = nodeHost({ file: ":memory:" });
  onTestFinished(() => host.close());
  const proxy = createProxy({
    ...upstream,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "nobody" }),
    origins: [],
    models: ["alpha-v4.1-flash", "delta-5.3"],
    routes: [chat],
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    host,
    plugins: storesStreams ? [resumableStreams()] : [],
  });

  return {
    gateway,
    chatRequests,
    stopped,
    written,
    openPage,
    writeByHand() {
      isByHand = true;
    },
  };

  /** Opens a page: a client whose connections can be lost, as in a reload. */
  function openPage({ losesResponses = false, lost = 0, ...options }: PageOptions = {}) {
    const gone = new AbortController();
    let responseCount = 0;
    const client = createClient({
      baseURL: "https://proxy.test",
      resume: streamResumption(),
      headers: { authorization: "user-1" },
      onEvent: () => {},
      ...options,
      async fetch(request) {
        // a closed page sends no requests
        if (gone.signal.aborted) return waitForever();
        if (request.method === "DELETE") stopped.push(request.url);
        // a lost connection tells the proxy nothing except a disconnect
        const { body, ...head } = await fetchProxy(request);
        if (losesResponses && request.method === "POST") return waitForever();
        if (request.method === "POST" && ++responseCount <= lost) {
          await body?.cancel();
          throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
        }
        return new Response(body && breakOnDisconnect(body, gone.signal), head);
      },
    });
    return { client, disconnect: () => gone.abort(new TypeError("terminated")) };
  }

  /** Creates a response that never arrives. The request fails at the end of the test, so that no timer remains. */
  function waitForever(): Promise<never> {
    return new Promise((_, reject) => {
      const end = () => reject(over.signal.reason);
      if (over.signal.aborted) end();
      else over.signal.addEventListener("abort", end);
    });
  }

  async function fetchProxy(request: Request) {
    const { body, status, headers } = await proxy.fetch(request);
    return { body, status, headers };
  }

  function respondByHand({ signal }: Request): Response {
    let isDisconnected = signal.aborted;
    let isEnded = false;
    signal.addEventListener("abort", () => {
      isDisconnected = true;
    });
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        written.push({
          write: (text) => controller.enqueue(encoder.encode(text)),
          end() {
            isEnded = true;
            controller.close();
          },
          cut() {
            isEnded = true;
            controller.error(new TypeError("terminated"));
          },
          get isDisconnected() {
            return isDisconnected;
          },
          get isEnded() {
            return isEnded || isDisconnected;
          },
        });
      },
      cancel() {
        isDisconnected = true;
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

/** Breaks a body when its page is closed. */
function breakOnDisconnect(body: ReadableStream<Uint8Array>, left: AbortSignal): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TransformStream(), { signal: left });
}

/** Creates a storage like `sessionStorage`, which survives a reload. */
export function createTextStorage() {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
    removeItem: (key: string) => void texts.delete(key),
  };
}
