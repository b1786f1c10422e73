import {
  type ChatRequest,
  type ChatResult,
  type Client,
  completeChat,
  isGatewayError,
  streamChat,
} from "@sluice/core";
import { isRecord, parseJSON } from "@sluice/core/extend";
import { type Exchange, NO_EXCHANGE, type Sender } from "./send.js";

/** Maximum number of tokens that the doctor spends on one model. */
export const MAX_TOKENS = 200;
/** Maximum number of tokens that the chat template of a model adds to a message. */
const TOKENS_PER_MESSAGE = 16;

/** A chat through the client. */
export interface ChatCall {
  readonly exchange: Exchange;
  /** Outcome for the client. Undefined if the client threw. */
  readonly result: ChatResult | undefined;
  readonly error: unknown;
  /** `max_tokens` of the request. */
  readonly maxTokens: number;
  /** Response that refused the first form of the request. The call was then sent without its additions. */
  readonly refused: Exchange | undefined;
}

/** The chats with one model. A chat is undefined if the tokens did not suffice. */
export interface ChatRun {
  readonly model: string;
  readonly stream: ChatCall | undefined;
  readonly whole: ChatCall | undefined;
  readonly tool: ChatCall | undefined;
  /** True if a stream was aborted after its first piece. */
  readonly isAborted: boolean;
  /** Tokens that the gateway reported, else the reserved tokens. */
  readonly tokens: number;
}

/** A request, and additional fields that a gateway may refuse. */
interface Draft {
  readonly request: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly tools?: readonly object[];
    readonly tool_choice?: string;
    readonly max_tokens: number;
  };
  readonly additions: object;
}

/** Creates the requests to one model. Their messages, tools and `max_tokens` stay within {@link MAX_TOKENS}. */
export function draftChats(model: string): Readonly<Record<"stream" | "whole" | "tool", Draft>> {
  const isAlpha = model.startsWith("alpha");
  const countTo20 = { model, messages: [{ role: "user", content: "Count to 20." }], max_tokens: 32 };
  const withoutThinking = isAlpha ? { thinking: { type: "disabled" } } : {};
  const tool = { type: "function", function: { name: "f", parameters: {} } };
  return {
    stream: {
      request: { ...countTo20, ...withoutThinking },
      additions: { stream_options: { include_usage: true } },
    },
    whole: {
      request: { model, messages: [{ role: "user", content: "Hi" }], max_tokens: 8 },
      additions:
        model === "delta-5.3" ? { temperature: 0.5, top_p: 0.95, stop: ["###"] } : { sluice_doctor: true },
    },
    tool: {
      request: {
        model,
        messages: [{ role: "user", content: "Call f." }],
        tools: [tool],
        tool_choice: "required",
        max_tokens: 24,
        ...withoutThinking,
      },
      additions: {},
    },
  };
}

/** Returns false for a model whose requests have no `tools`. */
export function canCallTools(model: string): boolean {
  return !model.startsWith("gamma");
}

/** Chats with one model, one request after the other. */
export async function runChats(
  client: Client,
  sender: Sender,
  model: string,
  options: { readonly signal: AbortSignal; readonly testsAbort: boolean },
): Promise<ChatRun> {
  const { signal } = options;
  const drafts = draftChats(model);
  let tokens = 0;
  const stream = await runCall(drafts.stream, readStream);
  const whole = await runCall(drafts.whole, (request) =>
    completeChat(client, request, { signal, checks: false }),
  );
  const isAborted = options.testsAbort && (await abortStream(drafts.stream));
  const tool = canCallTools(model) ? await runCall(drafts.tool, readStream) : undefined;
  return { model, stream, whole, tool, isAborted, tokens };

  /** Sends a draft, and without its additions if they are refused. Undefined if the tokens do not suffice. */
  async function runCall(
    { request, additions }: Draft,
    read: (request: ChatRequest) => Promise<ChatResult>,
  ): Promise<ChatCall | undefined> {
    if (tokens + computeMaxTokens(request) > MAX_TOKENS) return undefined;
    const first = await attempt({ ...request, ...additions }, read);
    const isRefused = first.exchange.status === 400 || first.exchange.status === 422;
    const last = isRefused && Object.keys(additions).length > 0 ? await attempt(request, read) : first;
    const reported = readTotal(last.exchange);
    if (last.exchange.status === 200) tokens += reported ?? computeMaxTokens(request);
    return { ...last, maxTokens: request.max_tokens, refused: isRefused ? first.exchange : undefined };
  }

  async function attempt(request: object, read: (request: ChatRequest) => Promise<ChatResult>) {
    const { result, error } = await read(request as ChatRequest).then(
      (value) => ({ result: value, error: undefined }),
      (thrown: unknown) => ({ result: undefined, error: thrown }),
    );
    signal.throwIfAborted();
    const [exchange = NO_EXCHANGE] = await sender.take();
    const failure = isGatewayError(error) && exchange.status === undefined ? error.message : undefined;
    return { exchange: { ...exchange, failure }, result, error };
  }

  function readStream(request: ChatRequest): Promise<ChatResult> {
    return streamChat(client, request, { signal, checks: false }).result();
  }

  /** Aborts a stream after its first piece. Returns false if no piece came, or the tokens do not suffice. */
  async function abortStream({ request }: Draft): Promise<boolean> {
    if (tokens + computeMaxTokens(request) > MAX_TOKENS) return false;
    const controller = new AbortController();
    const chat = streamChat(client, request as unknown as ChatRequest, {
      signal: AbortSignal.any([signal, controller.signal]),
      checks: false,
    });
    // the end of an aborted stream is an error
    chat.result().catch(() => {});
    try {
      for await (const _ of chat) controller.abort();
    } catch {
      // the abort
    }
    signal.throwIfAborted();
    tokens += computeMaxTokens(request);
    await sender.take();
    return controller.signal.aborted;
  }
}

/** Returns the events of a stream, as parsed JSON or as text. */
export function readEvents({ text }: Exchange): unknown[] {
  return [...text.matchAll(/^data:[ \t]?(.*)$/gm)].map(([, data = ""]) => parseJSON(data) ?? data.trim());
}

/** Returns each `usage` of a response, in order. */
export function readUsages(exchange: Exchange): Readonly<Record<string, unknown>>[] {
  return [exchange.json, ...readEvents(exchange)].flatMap((value) =>
    isRecord(value) && isRecord(value["usage"]) ? [value["usage"]] : [],
  );
}

function readTotal(exchange: Exchange): number | undefined {
  const totals = readUsages(exchange).map(({ total_tokens: total }) => Number(total) || 0);
  return totals.length > 0 ? Math.max(...totals) : undefined;
}

/** Returns the maximum number of tokens of a request and its response. A token has at least one byte. */
function computeMaxTokens({ messages, tools, max_tokens }: Draft["request"]): number {
  const text = messages.map(({ content }) => content).join("") + (tools ? JSON.stringify(tools) : "");
  return text.length + messages.length * TOKENS_PER_MESSAGE + max_tokens;
}
