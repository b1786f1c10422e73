import { type ChatRequest, type Client, streamChat } from "@sluice/core";
import { canReuseKey, createRandomId, hashToId } from "@sluice/core/extend";
import {
  type ChatTransport,
  convertToModelMessages,
  generateId,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { toStream } from "../base/to-stream.js";
import { addCallResults, settleApprovals } from "./approvals.js";
import type { ChatTransportOptions } from "./options.js";
import { createProgressStore, type SentRequest } from "./progress-store.js";
import { createChatRequest } from "./request.js";
import { createResumption } from "./resume.js";
import { streamChunks } from "./step.js";
import type { ToolContext } from "./tools.js";
import { watchHeaders } from "./watch-headers.js";

type SendOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>["sendMessages"]>[0];

/**
 * Creates a transport for `useChat` of the AI SDK that sends requests to the gateway through the Worker proxy. It needs
 * no server and none of the SDK's stream formats.
 *
 * An interrupted message is an error of the chat, and its text stays unfinished. `stop()` stops the message at the
 * gateway. With `storage` and `resumableStreams()` in the proxy, a message continues after a reload and is paid once. If it was
 * lost before it began, `regenerate()` gets it without another payment. The chat's `error` is the client's error, so
 * `describeError` of `@sluice/react` explains it.
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
  const progressStore = createProgressStore(client, options.storage);
  const { tools = {}, needsApproval, maxSteps = 8, messageMetadata: createMetadata } = options;

  return {
    // the proxy replays a stored stream from its start
    resumeStreamIsReplay: true,
    async sendMessages(sent) {
      const { signal, abort } = createLinkedSignal(sent.abortSignal);
      return toStream(sendMessage(sent, signal), abort);
    },
    reconnectToStream: createResumption(client, options, progressStore),
  };

  async function* sendMessage(
    sent: SendOptions<Message>,
    signal: AbortSignal,
  ): AsyncGenerator<UIMessageChunk, void> {
    const { chatId, headers, body } = sent;
    const continued = findContinuedMessage(sent);
    assertMaxSteps(continued, maxSteps);
    const stored = await progressStore.read(chatId);
    const context: ToolContext = { tools, needsApproval, abortSignal: signal, messages: [] };
    const callResults = yield* settleApprovals(continued, context);
    const settled = continued && addCallResults(continued, callResults);
    const messages = sent.messages.map((message) => (message === continued && settled ? settled : message));
    const modelMessages = await convertToModelMessages(messages, { tools, ignoreIncompleteToolCalls: true });
    const { body: request, checks } = await createChatRequest(client, options, modelMessages, body);
    const messageId = continued?.id ?? generateId();
    const target = { messageId, earlier: settled?.parts ?? [] };
    const key = createKey(client, request, stored?.sent);
    // before the request, so that a page reloaded right after it can request the same message
    await (key ? progressStore.write(chatId, { sent: key, ...target }) : progressStore.remove(chatId));
    const onId = (streamId: string) => void progressStore.write(chatId, { streamId, ...target });
    const stream = streamChat(watchHeaders(client, { onId }), request, {
      signal,
      checks,
      headers: new Headers(headers),
      idempotencyKey: key?.idempotencyKey,
    });
    try {
      yield* streamChunks({
        stream,
        context: { ...context, messages: modelMessages },
        opening: [continued ? { type: "start" } : { type: "start", messageId }],
        createMetadata,
        onComplete: () => progressStore.remove(chatId),
      });
    } catch (error) {
      // an unreachable message may still be stored, under its id or under the key of its request
      if (stream.streamId === undefined && !canReuseKey(error)) await progressStore.remove(chatId);
      throw error;
    }
  }
}

/**
 * Creates the key of a request. Reuses the key of an equal request whose message was lost. Returns undefined for a
 * client without keys.
 */
function createKey(
  client: Client,
  request: ChatRequest,
  previous: SentRequest | undefined,
): SentRequest | undefined {
  const fingerprint = client.idempotencyKeys ? hashToId(request) : undefined;
  if (fingerprint === undefined) return undefined;
  return previous?.fingerprint === fingerprint ? previous : { idempotencyKey: createRandomId(), fingerprint };
}

/** Creates the signal of a message. It aborts with the caller's signal or with `abort`. */
function createLinkedSignal(caller: AbortSignal | undefined) {
  const controller = new AbortController();
  const abort = () => controller.abort(caller?.reason);
  if (caller?.aborted) abort();
  caller?.addEventListener("abort", abort);
  return { signal: controller.signal, abort };
}

/** Finds the assistant message that the response continues, after results of its calls. Undefined for a new one. */
function findContinuedMessage<Message extends UIMessage>(sent: SendOptions<Message>): Message | undefined {
  const { messages, messageId, trigger } = sent;
  if (trigger === "regenerate-message") return undefined;
  const named = messages.find(({ id, role }) => id === messageId && role === "assistant");
  const last = messages.at(-1);
  return named ?? (last?.role === "assistant" ? last : undefined);
}

function assertMaxSteps(message: UIMessage | undefined, maxSteps: number): void {
  const steps = message?.parts.filter(({ type }) => type === "step-start").length ?? 0;
  if (steps >= maxSteps)
    throw new Error(
      `the limit of ${maxSteps} responses in one message was reached (maxSteps); nothing was sent`,
    );
}
