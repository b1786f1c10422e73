import type { ChatRequest } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import type { Exchange } from "./network.js";
import { BEGINNING } from "./platform.js";
import type { Timeline } from "./timeline.js";

/** Faults of one response of the gateway. Real gateways have sent each of them. */
export const gatewayFaults = [
  "throttles",
  "is busy",
  "refuses, and falls silent",
  "responds with other JSON",
  "ends with a call that is not there",
  "sends a frame of an odd type",
  "sends an odd receipt",
  "quotes the key",
  "responds with the key",
] as const;
export type GatewayFault = (typeof gatewayFaults)[number];

/** A request that reached the gateway. */
export interface GatewayCall {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** True if the gateway began to work, and bills. */
  readonly isBilled: boolean;
  /** The task that was created. */
  readonly taskId?: string | undefined;
  /** The connection of the request. */
  readonly exchange: Exchange;
}

/** Creates the gateway: the emulator on the simulation's clock, with recognizable replies. */
export function createGateway(timeline: Timeline) {
  const calls: GatewayCall[] = [];
  /** Each whole text that the gateway has begun to send. */
  const texts = new Set<string>();
  const armed: GatewayFault[] = [];
  const emulator = createEmulator({
    clock: { now: () => BEGINNING + timeline.now(), sleep },
    chat: (request) => replyTo(request),
  });
  return {
    calls,
    texts,
    arm: (fault: GatewayFault) => void armed.push(fault),
    disarm: () => void armed.splice(0),
    /** Forgets all tasks. */
    forget: () => emulator.reset(),
    fetch,
  };

  async function fetch(request: Request, exchange: Exchange): Promise<Response> {
    const { method, url } = request;
    const path = new URL(url).pathname;
    const text = method === "POST" ? await request.clone().text() : "";
    const body = (text ? JSON.parse(text) : {}) as Record<string, unknown>;
    const fault = takeFault(method, path);
    const key = request.headers.get("authorization")?.slice("Bearer ".length);
    const refusal = fault && createRefusal(fault, key);
    const response = refusal ?? (await emulator.fetch(request));
    const isBilled = method === "POST" && response.status === 200 && !refusal;
    const { id } = (isBilled && path.startsWith("/v1/video") ? await response.clone().json() : {}) as {
      id?: string;
    };
    calls.push({ at: timeline.now(), method, path, body, isBilled, taskId: id, exchange });
    return fault && !refusal ? spoil(response, fault, key) : response;
  }

  function takeFault(method: string, path: string): GatewayFault | undefined {
    const index = armed.findIndex((fault) => {
      if (fault === "sends an odd receipt") return method === "POST" && path.startsWith("/v1/video");
      if (fault === "throttles" || fault === "is busy") return true;
      const isRefusal = fault === "refuses, and falls silent" || fault === "quotes the key";
      return method === "POST" && (isRefusal || path.startsWith("/v1/chat"));
    });
    return index < 0 ? undefined : armed.splice(index, 1)[0];
  }

  function replyTo({ messages }: ChatRequest): { content: string; reasoning: string; toolCalls?: never[] } {
    const last = messages.at(-1);
    const question = messages.findLast(({ role }) => role === "user")?.content as string;
    const [, tool] = /\[(\w+)\]/.exec(question) ?? [];
    const names = tool === "both" ? ["guarded", "asked"] : [tool];
    const toolCalls = names.map((name) => ({ name, arguments: {} })) as never[];
    if (tool && tool !== "long" && last?.role === "user") return { content: "", reasoning: "", toolCalls };
    const length = tool === "long" ? 40 : question.length % 9;
    const about = last?.role === "tool" ? `${question} after ${messages.length} messages` : question;
    const content = `Answer to ${about}:${" and a few more words on it".repeat(length)}.`;
    texts.add(content);
    return { content, reasoning: "" };
  }

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = timeline.after(ms, () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      });
      signal?.addEventListener("abort", stop);
    });
  }
}

function createRefusal(fault: GatewayFault, key = "none"): Response | undefined {
  if (fault === "quotes the key")
    return Response.json({ error: { message: `the key ${key} is new`, code: "busy" } }, { status: 400 });
  const error = { error: { message: "not now", code: "busy" } };
  if (fault === "throttles") return Response.json(error, { status: 429, headers: { "retry-after": "2" } });
  if (fault === "is busy") return Response.json(error, { status: 503 });
  if (fault === "responds with other JSON") return Response.json({ detail: "quota used up" });
  const silence = new ReadableStream({}, { highWaterMark: 0 });
  return fault === "refuses, and falls silent" ? new Response(silence, { status: 400 }) : undefined;
}

function spoil(response: Response, fault: GatewayFault, key: string | undefined): Response {
  const withKey = (text: string) => (key ? text.replace("Answer", `Answer ${key}`) : text);
  const replace = fault === "responds with the key" ? withKey : replacements[fault];
  if (!replace || !response.body) return response;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(replace(decoder.decode(value))));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const { status, headers } = response;
  return new Response(body, { status, headers: { "content-type": headers.get("content-type") ?? "" } });
}

const replacements: Partial<Record<GatewayFault, (text: string) => string>> = {
  "ends with a call that is not there": (text) =>
    text.replace('"finish_reason":"stop"', '"finish_reason":"tool_calls"'),
  "sends a frame of an odd type": (text) => text.replace('"content":""', '"content":{}'),
  "sends an odd receipt": (text) => text.replace(/"created_at":\d+/, '"created_at":"today"'),
};
