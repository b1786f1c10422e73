import { type Client, isGatewayError, resumeChat } from "@sluice/core";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { streamOf } from "../base/stream-of.js";
import { chunksOf } from "./answer.js";
import type { Memory, Progress } from "./memory.js";
import { noting } from "./noting.js";
import type { ChatTransportOptions } from "./options.js";
import { replayed } from "./replay.js";
import type { ToolContext } from "./tools.js";

/** An answer in progress that has begun. */
type Begun = Progress & { readonly streamId: string };

type Reconnect = Parameters<ChatTransport<UIMessage>["reconnectToStream"]>[0];

/** Creates the way to read on an answer that a reload has left behind; it returns null where there is none. */
export function createResumption(client: Client, options: ChatTransportOptions, memory: Memory) {
  /** Number of the last resumption of each chat. */
  const resumptions = new Map<string, number>();
  return resume;

  async function resume(asked: Reconnect): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = asked;
    const turn = (resumptions.get(chatId) ?? 0) + 1;
    resumptions.set(chatId, turn);
    const known = await memory.read(chatId);
    // an answer without an id had not begun: the same request brings it, under the same key
    if (known?.streamId === undefined) return null;
    const progress = { ...known, streamId: known.streamId };
    // a resumption that a later one replaces, as in React's strict mode, leaves the answer to it
    const stopUnlessReplaced = () => {
      if (resumptions.get(chatId) === turn) stop(asked, progress);
    };
    if (abortSignal?.aborted) {
      stopUnlessReplaced();
      return null;
    }
    const { stream, chunks, opened } = follow(asked, progress);
    abortSignal?.addEventListener("abort", () => {
      stream.abort();
      queueMicrotask(stopUnlessReplaced);
    });
    const first = chunks.next();
    try {
      await Promise.race([opened, first]);
    } catch (error) {
      if (!isGone(error)) throw error;
      await memory.remove(chatId);
      return null;
    }
    return streamOf(withFirst(first, chunks), () => stream.abort());
  }

  function follow({ chatId, headers, abortSignal }: Reconnect, { streamId, messageId, earlier }: Begun) {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const watched = noting(client, { onOpen: () => open() });
    const stream = resumeChat(watched, streamId, { headers: new Headers(headers) });
    const { tools = {}, needsApproval, messageMetadata: metadataOf } = options;
    const context: ToolContext = { tools, needsApproval, abortSignal, messages: [] };
    const opening: UIMessageChunk[] = [{ type: "start", messageId }, ...replayed(earlier)];
    const onWhole = () => memory.remove(chatId);
    return { stream, opened, chunks: chunksOf({ stream, context, opening, metadataOf, onWhole }) };
  }

  /** Stops an answer at the gateway. */
  function stop({ chatId, headers }: Reconnect, { streamId }: Begun): void {
    resumeChat(client, streamId, { headers: new Headers(headers), stopOnAbort: true }).abort();
    void memory.remove(chatId);
  }
}

/** Returns true if the proxy keeps no such answer any more. */
function isGone(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  return error.name === "ValidationError" || (error.name === "APIError" && error.status === 404);
}

async function* withFirst<Value>(
  first: Promise<IteratorResult<Value, void>>,
  rest: AsyncGenerator<Value, void>,
): AsyncGenerator<Value, void> {
  try {
    for (let step = await first; !step.done; step = await rest.next()) yield step.value;
  } finally {
    await rest.return();
  }
}
