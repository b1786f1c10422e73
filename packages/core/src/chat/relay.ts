import { isGatewayError } from "../errors.js";
import type { ChatDelta } from "./delta.js";
import type { ChatTurn } from "./turn.js";

/** The text of an answer as a stream of strings; cancelling it leaves the loop and so aborts the request. */
export function textStreamOf(deltas: AsyncIterable<ChatDelta>): ReadableStream<string> {
  return pulled(deltas, (delta) => (delta.type === "text-delta" ? delta.text : undefined));
}

/** The answer as `chat.completion.chunk` events: what streamed it can be read by any client again. */
export function wireStreamOf(
  deltas: AsyncIterable<ChatDelta>,
  turn: Promise<ChatTurn>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const encode = (text: string) => encoder.encode(text);
  return pulled<Uint8Array>(
    deltas,
    (delta) => {
      const chunk = chunkOf(delta);
      return chunk && encode(`data: ${JSON.stringify({ object: "chat.completion.chunk", ...chunk })}\n\n`);
    },
    async (enqueue) => {
      const { id, model } = await turn;
      enqueue(
        encode(`data: ${JSON.stringify({ id, object: "chat.completion.chunk", model, choices: [] })}\n\n`),
      );
      enqueue(encode("data: [DONE]\n\n"));
    },
    (error) => encode(`event: error\ndata: ${JSON.stringify({ error: wireError(error) })}\n\n`),
  );
}

/** The headers of a relayed stream; the caller's own come first. */
export function wireInit(init: ResponseInit = {}): ResponseInit {
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", "text/event-stream; charset=utf-8");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-cache");
  return { ...init, headers };
}

function chunkOf(delta: ChatDelta): object | undefined {
  const choice = (fields: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: fields, finish_reason }],
  });
  switch (delta.type) {
    case "text-delta":
      return choice({ content: delta.text });
    case "reasoning-delta":
      return choice({ reasoning_content: delta.text });
    case "tool-call-start": {
      const { index, id, name } = delta;
      return choice({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    }
    case "tool-call-delta":
      return choice({ tool_calls: [{ index: delta.index, function: { arguments: delta.arguments } }] });
    case "usage":
      return { choices: [], usage: delta.usage };
    case "finish":
      return choice({}, delta.finishReason);
    default:
      return undefined;
  }
}

function wireError(error: unknown): object {
  const { message, code } = isGatewayError(error)
    ? error
    : { message: "the stream was aborted", code: "aborted" };
  return { message, type: "stream_error", code };
}

/** A stream that takes from `source` only when it is asked to. An error ends it, after what `onError` makes of it. */
function pulled<Out>(
  source: AsyncIterable<ChatDelta>,
  map: (delta: ChatDelta) => Out | undefined,
  onEnd?: (enqueue: (out: Out) => void) => Promise<void>,
  onError?: (error: unknown) => Out,
): ReadableStream<Out> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Out>(
    {
      async pull(controller) {
        const enqueue = (out: Out) => controller.enqueue(out);
        try {
          for (;;) {
            const { done, value } = await iterator.next();
            if (done) {
              await onEnd?.(enqueue);
              return controller.close();
            }
            const out = map(value);
            if (out !== undefined) return enqueue(out);
          }
        } catch (error) {
          if (!onError) throw error;
          enqueue(onError(error));
          controller.close();
        }
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
