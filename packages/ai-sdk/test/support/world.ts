import { type ClientOptions, createClient, streamResumption } from "@sluice/core";
import { streamLog, streamLogObject } from "@sluice/durable";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { createProxy } from "@sluice/worker-proxy";
import { onTestFinished } from "vitest";
import { createObjectHost } from "../../../../tests/support/object-host.js";

const KEY = "sk-gateway-0123456789";
const CHAT = "/v1/chat/completions";

/** An answer that the test writes, piece by piece. */
export interface Written {
  write(text: string): void;
  end(): void;
  /** Breaks the connection. */
  cut(): void;
  /** True once the gateway's client has gone. */
  readonly isLeft: boolean;
  /** True once the answer can't go on. */
  readonly isEnded: boolean;
}

const frame = (choice: object) =>
  `data: ${JSON.stringify({ id: "a", model: "delta-5.3", choices: [choice] })}\n\n`;
export const said = (content: string) => frame({ index: 0, delta: { content } });
export const called = (name: string, given: object) =>
  frame({
    index: 0,
    delta: {
      tool_calls: [
        { index: 0, id: "call-1", type: "function", function: { name, arguments: JSON.stringify(given) } },
      ],
    },
  });
export const ended = (reason = "stop") =>
  `${frame({ index: 0, delta: {}, finish_reason: reason })}data: [DONE]\n\n`;

/** Options of a page of a world. */
export interface PageOptions extends Pick<ClientOptions, "clock" | "onEvent" | "random"> {
  /** True if no answer to a chat request reaches it, not even its headers. @default false */
  readonly isDeaf?: boolean;
  /** Number of the first answers to chat requests that are lost with their connection. @default 0 */
  readonly lost?: number;
}

/** The gateway behind a proxy with a stream log, and pages in front of it. */
export function openWorld({
  emulator,
  isLogged = true,
}: {
  emulator?: EmulatorOptions;
  isLogged?: boolean;
} = {}) {
  const gateway = createEmulator({ speed: Infinity, apiKeys: [KEY], ...emulator });
  /** Bodies of the chat requests that reached the gateway. */
  const asked: Record<string, unknown>[] = [];
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
    asked.push(await request.clone().json());
    return isByHand ? byHand(request) : gateway.fetch(request);
  };
  const way = { baseURL: "https://gateway.test", apiKey: () => KEY, fetch: fetchGateway };
  const StreamLog = streamLogObject<unknown>({ ...way, namespace: () => objects.namespace });
  const objects: ReturnType<typeof createObjectHost> = createObjectHost(StreamLog, {});
  const proxy = createProxy({
    ...way,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "nobody" }),
    origins: [],
    models: ["alpha-v4.1-flash", "delta-5.3"],
    routes: ["chat"],
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    plugins: isLogged ? [streamLog(() => objects.namespace)] : [],
  });

  return {
    gateway,
    asked,
    stopped,
    written,
    page,
    answerByHand() {
      isByHand = true;
    },
  };

  /** Opens a page: a client whose connections can be lost, as by a reload. */
  function page({ isDeaf = false, lost = 0, ...options }: PageOptions = {}) {
    const gone = new AbortController();
    let answers = 0;
    const client = createClient({
      baseURL: "https://proxy.test",
      resume: streamResumption(),
      headers: { authorization: "user-1" },
      onEvent: () => {},
      ...options,
      async fetch(request) {
        // a page that is gone sends nothing more
        if (gone.signal.aborted) return silence();
        if (request.method === "DELETE") stopped.push(request.url);
        // a connection that is lost says nothing to the proxy: it only leaves
        const { body, ...head } = await responseOf(request);
        if (isDeaf && request.method === "POST") return silence();
        if (request.method === "POST" && ++answers <= lost) {
          await body?.cancel();
          throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
        }
        return new Response(body && leaving(body, gone.signal), head);
      },
    });
    return { client, leave: () => gone.abort(new TypeError("terminated")) };
  }

  /** An answer that never comes. The request fails at the end of the test, so that its limits of time end. */
  function silence(): Promise<never> {
    return new Promise((_, reject) => {
      const end = () => reject(over.signal.reason);
      if (over.signal.aborted) end();
      else over.signal.addEventListener("abort", end);
    });
  }

  async function responseOf(request: Request) {
    const { body, status, headers } = await proxy.fetch(request);
    return { body, status, headers };
  }

  function byHand({ signal }: Request): Response {
    let isLeft = signal.aborted;
    let isEnded = false;
    signal.addEventListener("abort", () => {
      isLeft = true;
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
          get isLeft() {
            return isLeft;
          },
          get isEnded() {
            return isEnded || isLeft;
          },
        });
      },
      cancel() {
        isLeft = true;
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

/** Breaks a body off when its page is left. */
function leaving(body: ReadableStream<Uint8Array>, left: AbortSignal): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TransformStream(), { signal: left });
}

/** A storage like `sessionStorage`, which outlives a page. */
export function textStorage() {
  const texts = new Map<string, string>();
  return {
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
    removeItem: (key: string) => void texts.delete(key),
  };
}
