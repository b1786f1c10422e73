import type { AnswerReader, ChatTurn } from "./protocol/answer-reader.js";
import type { ChatDelta } from "./protocol/delta.js";

// imports types only: a bundler can then load this file alone, for the few servers that pass answers on

/** An answer to pass on, after the gateway has answered. */
interface RelayedAnswer {
  readonly deltas: AsyncIterator<ChatDelta, undefined>;
  readonly turn: Promise<ChatTurn>;
  readonly head: AnswerReader["head"];
  /** Returns true if the answer ended with `[DONE]`. */
  readonly isDone: () => boolean;
  /** Error of an answer that failed before its stream began. */
  readonly failure: { readonly error: unknown } | undefined;
  readonly init: ResponseInit | undefined;
}

/**
 * Makes the response for an answer: a stream of `chat.completion.chunk` events, or the refusal with its status.
 *
 * @throws an error before the stream began that neither the request nor the gateway caused
 */
export function relayed({ failure, init = {}, ...answer }: RelayedAnswer): Response {
  const headers = new Headers(init.headers);
  const setDefault = (name: string, value: string) => headers.has(name) || headers.set(name, value);
  if (failure) {
    const { error } = failure;
    const status = statusOf(error);
    if (status === undefined) throw error;
    const { requestId, retryAfterMs } = error as { requestId?: string; retryAfterMs?: number };
    headers.set("content-type", "application/json");
    if (retryAfterMs !== undefined) headers.set("retry-after", `${Math.ceil(retryAfterMs / 1000)}`);
    if (requestId !== undefined) headers.set("x-request-id", requestId);
    return new Response(JSON.stringify({ error: wireError(error) }), { status, headers });
  }
  setDefault("content-type", "text/event-stream; charset=utf-8");
  setDefault("cache-control", "no-cache");
  return new Response(wireStreamOf(answer), { ...init, headers });
}

function statusOf(error: unknown): number | undefined {
  const { name = "", status } = error as { name?: string; status: number };
  if (name === "APIError") return status >= 400 ? status : 502;
  return statuses[name];
}

const statuses: { readonly [name: string]: number } = {
  ValidationError: 400,
  ConnectionError: 502,
  ResponseError: 502,
  TimeoutError: 504,
};

/** Makes the body of an error in the form that OpenAI-style clients read. */
function wireError(error: unknown): object {
  const { name, message, code, type, apiCode, param, reason, issues } = error as Partial<
    Record<"name" | "message" | "code" | "type" | "apiCode" | "param" | "reason", string>
  > & { issues?: readonly { path: string }[] };
  // code by which this library recognises a stream that was cut
  const known = reason === "truncated" ? "upstream_cut" : (apiCode ?? (name === "APIError" ? null : code));
  return { message, type: type ?? "gateway_error", code: known, param: param ?? issues?.[0]?.path ?? null };
}

function wireStreamOf(answer: Omit<RelayedAnswer, "failure" | "init">): ReadableStream<Uint8Array> {
  const { deltas, turn, head, isDone } = answer;
  const encoder = new TextEncoder();
  const created = Math.floor(Date.now() / 1000);
  const ownId = `chatcmpl-${globalThis.crypto?.randomUUID?.() ?? Math.random()}`;
  const event = (text: string) => encoder.encode(`data: ${text}\n\n`);
  /** Ids of the tool calls that were sent so far. */
  const ids: string[] = [];
  let hasRole = false;
  const chunk = (fields: object) =>
    event(
      JSON.stringify({
        id: head.id || ownId,
        object: "chat.completion.chunk",
        created: head.created || created,
        model: head.model,
        ...fields,
      }),
    );
  const choice = (delta: object, finish_reason: string | null = null) => {
    const role = hasRole ? {} : { role: "assistant" };
    hasRole = true;
    return chunk({ choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason }] });
  };

  return new ReadableStream(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await deltas.next();
            if (done) break;
            const bytes =
              value.type === "usage" ? chunk({ choices: [], usage: value.usage }) : encoded(value);
            if (bytes) return controller.enqueue(bytes);
          }
          const { finishReason, refusal } = await turn;
          if (refusal !== undefined) controller.enqueue(choice({ refusal }));
          controller.enqueue(choice({}, finishReason));
          if (isDone()) controller.enqueue(event("[DONE]"));
        } catch (error) {
          controller.enqueue(event(JSON.stringify({ error: wireError(error) })));
        }
        controller.close();
      },
      async cancel() {
        await deltas.return?.();
      },
    },
    { highWaterMark: 0 },
  );

  function encoded(delta: ChatDelta): Uint8Array | undefined {
    switch (delta.type) {
      case "text-delta":
        return choice({ content: delta.text });
      case "reasoning-delta":
        return choice({ reasoning_content: delta.text });
      case "tool-call-start":
        ids[delta.index] = delta.id;
        return call(delta.index, {
          ...(delta.id && { id: delta.id }),
          type: "function",
          function: { name: delta.name, arguments: "" },
        });
      case "tool-call-delta":
        return call(delta.index, { function: { arguments: delta.arguments } });
      case "tool-call": {
        // an id that came late, or that this library made
        const { id } = delta.toolCall;
        return ids[delta.index] === id ? undefined : call(delta.index, { id });
      }
      default:
        return undefined;
    }
  }

  function call(index: number, fields: object): Uint8Array {
    return choice({ tool_calls: [{ index, ...fields }] });
  }
}
