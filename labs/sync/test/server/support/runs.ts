import { defineTool, type Tool } from "@sluice/core";
import { type FollowUp, type ObjectNamespace, once, streamLog } from "@sluice/durable";
import {
  type ConversationsOptions,
  conversations,
  type EndedRun,
  type EndedTurn,
  type RunContext,
  runner,
} from "@sluice/sync/server";
import {
  createProxy,
  type JobEvent,
  type ProxyEvent,
  type ProxyPlugin,
  readStreams,
} from "@sluice/worker-proxy";
import { gateway, way } from "../../../../../packages/durable/test/support/durable-gateway.js";

/** Bodies of the requests that reached the gateway, as far as `script` answered them. */
export const bodies: { readonly messages: readonly Record<string, unknown>[] }[] = [];

/** Lets the gateway give these answers one after the other, the last one for ever. Each is made where it is asked for. */
export function script(...answers: readonly (() => Response)[]): void {
  bodies.length = 0;
  let at = 0;
  gateway.answers(async (request) => {
    bodies.push(await request.json());
    const next = answers[Math.min(at++, answers.length - 1)];
    return next?.() ?? new Response();
  });
}

/** A secret of the Worker, which nothing may show. */
export const CANARY = "canary-5f0c2d9b7a61-value";

export interface RunEnv {
  readonly RUN_CONVERSATIONS: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
  readonly ONCE: ObjectNamespace;
}

/** The runs under test: their tools, and their events. */
export const runs = {
  tools: [] as Tool[],
  instructions: undefined as ((run: RunContext<RunEnv>) => string | Promise<string>) | undefined,
  /** True while each start of a turn fails at once. */
  isBroken: false,
  /** The ways in which ends are told. */
  send: [] as FollowUp<RunEnv, EndedTurn>[],
  /** Refusal of the meter. */
  budget: undefined as { readonly retryAfterMs: number } | undefined,
  events: [] as JobEvent[],
  requests: [] as ProxyEvent[],
  ends: [] as EndedRun[],
  /** Forgets everything. */
  reset(): void {
    runs.tools = [];
    runs.instructions = undefined;
    runs.budget = undefined;
    runs.isBroken = false;
    runs.send.length = 0;
    runs.events.length = 0;
    runs.requests.length = 0;
    runs.ends.length = 0;
  },
};

/** Time for which a conversation is kept that nobody writes to, in milliseconds. */
export const KEEP_MS = 60 * 86_400_000;

const kept: ConversationsOptions<RunEnv> = {
  namespace: (env) => env.RUN_CONVERSATIONS,
  recordsPerConversation: 11_000,
  bytesPerUser: 64 * 1024 * 1024,
  keepMs: KEEP_MS,
  runner: runner<RunEnv>({
    proxy: () => {
      if (runs.isBroken) throw new Error("no proxy");
      return isKeeping.value ? keepingProxy : plainProxy;
    },
    model: "delta-5.3",
    instructions: (run) => runs.instructions?.(run) ?? "Be brief.",
    tools: () => runs.tools,
    maxSteps: 4,
    mostMessages: 20,
    stallMs: 120_000,
    pageToolMs: 60_000,
    notices: { send: runs.send, title: true, textCharacters: 10 },
    secrets: () => [CANARY],
    onEvent: (event) => void runs.events.push(event),
    onEnd: (end) => void runs.ends.push(end),
  }),
};

/** True while the proxy of the runs keeps answers. */
export const isKeeping = { value: true };

const options = {
  ...way,
  authenticate: ({ headers }: Request) => {
    const id = headers.get("authorization");
    return id ? { id } : null;
  },
  origins: [],
  models: { "delta-5.3": { max_tokens: 100 }, "gamma-image-5-0-260128": {}, "beta3.0-video": {} },
  routes: ["chat", "images", "videos"] as const,
  secret: () => "a secret of the proxy's own, 32 and more",
  onEvent: (event: ProxyEvent) => void runs.requests.push(event),
};
const meter: ProxyPlugin<RunEnv> = {
  ...readStreams(),
  reserve: async () => runs.budget ?? { settle: async () => {}, release: async () => {} },
};
const keepingProxy = createProxy<RunEnv>({
  ...options,
  plugins: [streamLog((env) => env.STREAM_LOG), once((env) => env.ONCE), conversations(kept)],
});
const plainProxy = createProxy<RunEnv>({ ...options, plugins: [meter, conversations(kept)] });
/** The proxy of the devices. */
export const proxy = keepingProxy;
export const keptRuns = kept;

interface Delta {
  readonly content?: string;
  readonly tool_calls?: readonly object[];
}

/** An answer of the gateway, as a stream. */
export function streamed(deltas: readonly Delta[], finish = "stop"): Response {
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta })),
    { index: 0, delta: {}, finish_reason: finish },
  ];
  const lines = choices.map((choice) => `data: ${JSON.stringify({ id: "1", choices: [choice] })}\n\n`);
  return new Response(`${lines.join("")}data: [DONE]\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });
}

export const says = (text: string) => streamed([{ content: text }]);

export function calls(...names: readonly string[]): Response {
  const tool_calls = names.map((name, index) => ({
    index,
    id: `call-${index}`,
    type: "function",
    function: { name, arguments: "{}" },
  }));
  return streamed([{ tool_calls }], "tool_calls");
}

/** A tool without arguments. Without `execute` a page has to run it. */
export function tool(name: string, execute?: Tool["execute"], more: object = {}): Tool {
  const inputSchema = { type: "object", properties: {} };
  return defineTool({ name, inputSchema, ...(execute && { execute }), ...more } as never) as Tool;
}
