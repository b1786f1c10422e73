import {
  type ChatRequest,
  type ChatRequestMessage,
  type Client,
  ConfigurationError,
  repairHistory,
  TimeoutError,
} from "@sluice/core";
import { isRecord, onAbort, openSpan, unlessAborted, withDetails } from "@sluice/core/internal";
import type { ChatStoreOptions } from "./options.js";

// loaded for chats with `prepareMessages`

/**
 * Replaces the messages of a request by those that `prepareMessages` returns, repairHistory. It may take as long as a request.
 *
 * @param owner aborts when the turn ends
 */
export async function prepared(
  client: Client,
  request: ChatRequest,
  { prepareMessages, request: { timeouts, signal: own } = {} }: ChatStoreOptions,
  owner: AbortSignal,
): Promise<ChatRequest> {
  const { totalMs = Number.POSITIVE_INFINITY } = { ...client.timeouts, ...timeouts };
  const late = () =>
    withDetails(
      new TimeoutError(`prepareMessages had no result after ${totalMs} ms (timeouts.totalMs)`, "total"),
      { outcome: "not-sent" },
    );
  const { signal, abort, end } = openSpan(client.clock, owner, totalMs, late);
  const ignoreOwn = onAbort(own, () => abort(own?.reason));
  try {
    const given = request.messages as readonly ChatRequestMessage[];
    const work = async () => prepareMessages?.([...given], { signal });
    const messages = await unlessAborted(work(), signal);
    return { ...request, messages: sound(client, messages) } as ChatRequest;
  } finally {
    ignoreOwn();
    end();
  }
}

/** @throws {ConfigurationError} for a result that is no list of messages; all else is checked with the request */
function sound(client: Client, messages: unknown): readonly ChatRequestMessage[] {
  if (!Array.isArray(messages) || !messages.every(isRecord))
    throw new ConfigurationError("prepareMessages: must return the list of messages to send");
  const given = new Set<unknown>(messages);
  const whole = repairHistory(messages as unknown as readonly ChatRequestMessage[]);
  // results without their calls are left out silently: a list that is cut in the middle begins with them
  if (whole.some((message) => !given.has(message)))
    client.warn({
      path: "prepareMessages",
      message: "left a tool call without its result: the model is told that the call was cancelled",
      rule: "chat.prepare-messages",
    });
  return whole;
}
