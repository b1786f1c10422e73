import { type ChatRequest, type Client, streamChat } from "@sluice/core";
import { canReuseKey, createFingerprint, createRandomId } from "@sluice/core/internal";
import {
  type ChatTransport,
  convertToModelMessages,
  generateId,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { streamOf } from "../base/stream-of.js";
import { chunksOf } from "./answer.js";
import { settleApprovals, withDecided } from "./approvals.js";
import { createMemory, type SentRequest } from "./memory.js";
import { noting } from "./noting.js";
import type { ChatTransportOptions } from "./options.js";
import { chatRequestOf } from "./request.js";
import { createResumption } from "./resume.js";
import type { ToolContext } from "./tools.js";

type Sent<Message extends UIMessage> = Parameters<ChatTransport<Message>["sendMessages"]>[0];

/**
 * Creates a transport for `useChat` of the AI SDK that asks the gateway by way of the Worker proxy: no server of your own,
 * and none of the SDK's streams on the way.
 *
 * An answer that breaks off is an error of the chat, and its text stays unfinished. `stop()` stops the answer at the
 * gateway. With `storage` and a stream log in the proxy, an answer continues after a reload, and is not paid again. One that
 * was lost before it began is not continued: `regenerate()` brings it, and it is not paid again either. The chat's `error` is the client's own, so `describeError` of `@sluice/react` has its words.
 *
 * @example
 * ```tsx
 * import { useChat } from "@ai-sdk/react";
 * import { createChatTransport } from "@sluice/ai-sdk/transport";
 * import { createClient } from "@sluice/core";
 *
 * const transport = createChatTransport(createClient({ baseURL: "/api" }), {
 *   model: "delta-5.3",
 *   storage: sessionStorage,
 * });
 *
 * export function Chat() {
 *   const { messages, sendMessage, status } = useChat({ id: "support", transport, resume: true });
 *   return (
 *     <button type="button" disabled={status !== "ready"} onClick={() => sendMessage({ text: "Hello" })}>
 *       {messages.length} messages
 *     </button>
 *   );
 * }
 * ```
 */
export function createChatTransport<Message extends UIMessage = UIMessage>(
  client: Client,
  options: ChatTransportOptions,
): ChatTransport<Message> {
  const memory = createMemory(client, options.storage);
  const { tools = {}, needsApproval, maxSteps = 8, messageMetadata: metadataOf } = options;

  return {
    // an answer that is kept is read from its start
    resumeStreamIsReplay: true,
    async sendMessages(sent) {
      const { signal, abort } = endWith(sent.abortSignal);
      return streamOf(answer(sent, signal), abort);
    },
    reconnectToStream: createResumption(client, options, memory),
  };

  async function* answer(sent: Sent<Message>, signal: AbortSignal): AsyncGenerator<UIMessageChunk, void> {
    const { chatId, headers, body } = sent;
    const continued = continuedIn(sent);
    assertStepLeft(continued, maxSteps);
    const before = await memory.read(chatId);
    const context: ToolContext = { tools, needsApproval, abortSignal: signal, messages: [] };
    const decided = yield* settleApprovals(continued, context);
    const settled = continued && withDecided(continued, decided);
    const messages = sent.messages.map((message) => (message === continued && settled ? settled : message));
    const sendable = await convertToModelMessages(messages, { tools, ignoreIncompleteToolCalls: true });
    const { body: request, checks } = await chatRequestOf(client, options, sendable, body);
    const messageId = continued?.id ?? generateId();
    const place = { messageId, earlier: settled?.parts ?? [] };
    const key = keyOf(client, request, before?.sent);
    // before the request: a page that is left right after it can ask for the same answer
    await (key ? memory.write(chatId, { sent: key, ...place }) : memory.remove(chatId));
    const onId = (streamId: string) => void memory.write(chatId, { streamId, ...place });
    const stream = streamChat(noting(client, { onId }), request, {
      signal,
      checks,
      headers: new Headers(headers),
      idempotencyKey: key?.idempotencyKey,
    });
    try {
      yield* chunksOf({
        stream,
        context: { ...context, messages: sendable },
        opening: [continued ? { type: "start" } : { type: "start", messageId }],
        metadataOf,
        onWhole: () => memory.remove(chatId),
      });
    } catch (error) {
      // an answer that can't be reached now may still be kept, under its id or under the key of its request
      if (stream.streamId === undefined && !canReuseKey(error)) await memory.remove(chatId);
      throw error;
    }
  }
}

/**
 * Makes the key of a request: that of the same request before, whose answer was lost. A request that was changed is another
 * one. Undefined for a client that sends no keys.
 */
function keyOf(
  client: Client,
  request: ChatRequest,
  before: SentRequest | undefined,
): SentRequest | undefined {
  const fingerprint = client.idempotencyKeys ? createFingerprint(request) : undefined;
  if (fingerprint === undefined) return undefined;
  return before?.fingerprint === fingerprint ? before : { idempotencyKey: createRandomId(), fingerprint };
}

/** Creates the signal of an answer, which ends with the caller's or by `abort`. */
function endWith(caller: AbortSignal | undefined) {
  const end = new AbortController();
  const abort = () => end.abort(caller?.reason);
  if (caller?.aborted) abort();
  caller?.addEventListener("abort", abort);
  return { signal: end.signal, abort };
}

/** Finds the message that an answer continues: the one with the calls whose results are sent. */
function continuedIn<Message extends UIMessage>(sent: Sent<Message>): Message | undefined {
  const { messages, messageId, trigger } = sent;
  if (trigger === "regenerate-message") return undefined;
  const named = messages.find(({ id, role }) => id === messageId && role === "assistant");
  const last = messages.at(-1);
  return named ?? (last?.role === "assistant" ? last : undefined);
}

function assertStepLeft(message: UIMessage | undefined, maxSteps: number): void {
  const steps = message?.parts.filter(({ type }) => type === "step-start").length ?? 0;
  if (steps >= maxSteps)
    throw new Error(
      `the limit of ${maxSteps} answers in one message was reached (maxSteps); nothing was sent`,
    );
}
