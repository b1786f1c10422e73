import { type Client, isGatewayError, resumeChat } from "@sluice/core";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { toStream } from "../base/to-stream.js";
import type { ChatTransportOptions } from "./options.js";
import type { Progress, ProgressStore } from "./progress-store.js";
import { replayParts } from "./replay.js";
import { streamChunks } from "./step.js";
import type { ToolContext } from "./tools.js";
import { watchHeaders } from "./watch-headers.js";

/** A message in progress with an id. */
type StartedProgress = Progress & { readonly streamId: string };

type Reconnect = Parameters<ChatTransport<UIMessage>["reconnectToStream"]>[0];

/** Creates the function that continues a message after a reload. The function returns null without a stored message. */
export function createResumption(
  client: Client,
  options: ChatTransportOptions,
  progressStore: ProgressStore,
) {
  /** Number of the last resumption of each chat. */
  const resumptions = new Map<string, number>();
  return resume;

  async function resume(request: Reconnect): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = request;
    const resumption = (resumptions.get(chatId) ?? 0) + 1;
    resumptions.set(chatId, resumption);
    const stored = await progressStore.read(chatId);
    // a message without an id has not begun: `regenerate()` gets it with the same key
    if (stored?.streamId === undefined) return null;
    const progress = { ...stored, streamId: stored.streamId };
    // a later resumption, as in React's strict mode, takes over the message
    const stopUnlessReplaced = () => {
      if (resumptions.get(chatId) === resumption) stop(request, progress);
    };
    if (abortSignal?.aborted) {
      stopUnlessReplaced();
      return null;
    }
    const { stream, chunks, opened } = subscribe(request, progress);
    abortSignal?.addEventListener("abort", () => {
      stream.abort();
      queueMicrotask(stopUnlessReplaced);
    });
    const first = chunks.next();
    try {
      await Promise.race([opened, first]);
    } catch (error) {
      if (!isDeleted(error)) throw error;
      await progressStore.remove(chatId);
      return null;
    }
    return toStream(prependFirst(first, chunks), () => stream.abort());
  }

  function subscribe(
    { chatId, headers, abortSignal }: Reconnect,
    { streamId, messageId, earlier }: StartedProgress,
  ) {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const watched = watchHeaders(client, { onOpen: () => open() });
    const stream = resumeChat(watched, streamId, { headers: new Headers(headers) });
    const { tools = {}, needsApproval, messageMetadata: createMetadata } = options;
    const context: ToolContext = { tools, needsApproval, abortSignal, messages: [] };
    const opening: UIMessageChunk[] = [{ type: "start", messageId }, ...replayParts(earlier)];
    const onComplete = () => progressStore.remove(chatId);
    return { stream, opened, chunks: streamChunks({ stream, context, opening, createMetadata, onComplete }) };
  }

  /** Stops a message at the gateway. */
  function stop({ chatId, headers }: Reconnect, { streamId }: StartedProgress): void {
    resumeChat(client, streamId, { headers: new Headers(headers), stopOnAbort: true }).abort();
    void progressStore.remove(chatId);
  }
}

/** Checks if the proxy no longer stores the message. */
function isDeleted(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  return error.name === "ValidationError" || (error.name === "APIError" && error.status === 404);
}

/** Yields a value that was already requested, then the other values. */
async function* prependFirst<Value>(
  first: Promise<IteratorResult<Value, void>>,
  rest: AsyncGenerator<Value, void>,
): AsyncGenerator<Value, void> {
  try {
    for (let next = await first; !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return();
  }
}
