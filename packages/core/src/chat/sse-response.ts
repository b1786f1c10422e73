import type { ChatDelta } from "./protocol/delta.js";
import type { ChatStream, OpenStream } from "./stream.js";

/**
 * Converts a stream to a `Response` with `chat.completion.chunk` events, which any OpenAI-style client reads. For a
 * server between the gateway and the app. Resolves once the gateway has responded. A rejection becomes a response with
 * its HTTP status and an OpenAI error body, as do a failed connection (502), a timeout (504) and a broken rule (400). A
 * later error becomes an error event in the stream.
 *
 * @param init status and headers of the response. An error response also gets the headers
 * @throws an abort, a wrong configuration, and any error of the client's `headers` or `apiKey`
 * @example
 * ```ts
 * const handler = async (request: Request) => {
 *   const { messages } = await request.json();
 *   return toResponse(streamChat(client, { model: "delta-5.3", messages }, { signal: request.signal }));
 * };
 * ```
 */
export async function toResponse(stream: ChatStream, init: ResponseInit = {}): Promise<Response> {
  const deltas = stream[Symbol.asyncIterator]() as AsyncIterator<ChatDelta, undefined>;
  const headers = new Headers(init.headers);
  const setDefault = (name: string, value: string) => headers.has(name) || headers.set(name, value);
  try {
    await (stream as OpenStream).opening;
  } catch (error) {
    const status = findStatus(error);
    if (status === undefined) throw error;
    const { requestId, retryAfterMs } = error as { requestId?: string; retryAfterMs?: number };
    headers.set("content-type", "application/json");
    if (retryAfterMs !== undefined) headers.set("retry-after", `${Math.ceil(retryAfterMs / 1000)}`);
    if (requestId !== undefined) headers.set("x-request-id", requestId);
    return new Response(JSON.stringify({ error: toWireError(error) }), { status, headers });
  }
  setDefault("content-type", "text/event-stream; charset=utf-8");
  setDefault("cache-control", "no-cache");
  return new Response(createWireStream(stream as OpenStream, deltas), { ...init, headers });
}

function findStatus(error: unknown): number | undefined {
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

/** Creates the body of an error for OpenAI-style clients. */
function toWireError(error: unknown): object {
  const { name, message, type, code, param, reason, issues } = error as Partial<
    Record<"name" | "message" | "type" | "code" | "param" | "reason", string>
  > & { issues?: readonly { path: string }[] };
  // this library recognizes a truncated stream by this code
  const known = reason === "truncated" ? "upstream_cut" : (code ?? (name === "APIError" ? null : name));
  return { message, type: type ?? "gateway_error", code: known, param: param ?? issues?.[0]?.path ?? null };
}

function createWireStream(
  response: OpenStream,
  deltas: AsyncIterator<ChatDelta, undefined>,
): ReadableStream<Uint8Array> {
  const { head } = response;
  const encoder = new TextEncoder();
  const created = Math.floor(Date.now() / 1000);
  const ownId = `chatcmpl-${globalThis.crypto?.randomUUID?.() ?? Math.random()}`;
  const encodeEvent = (text: string) => encoder.encode(`data: ${text}\n\n`);
  /** Ids of the tool calls sent so far. */
  const ids: string[] = [];
  let hasRole = false;
  const encodeChunk = (fields: object) =>
    encodeEvent(
      JSON.stringify({
        id: head.id || ownId,
        object: "chat.completion.chunk",
        created: head.created || created,
        model: head.model,
        ...fields,
      }),
    );
  const encodeChoice = (delta: object, finish_reason: string | null = null) => {
    const role = hasRole ? {} : { role: "assistant" };
    hasRole = true;
    return encodeChunk({ choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason }] });
  };

  return new ReadableStream(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await deltas.next();
            if (done) break;
            const bytes =
              value.type === "usage" ? encodeChunk({ choices: [], usage: value.usage }) : encodeDelta(value);
            if (bytes) return controller.enqueue(bytes);
          }
          const { finishReason, refusal } = await response.result();
          if (refusal !== undefined) controller.enqueue(encodeChoice({ refusal }));
          controller.enqueue(encodeChoice({}, finishReason));
          if (response.isDone) controller.enqueue(encodeEvent("[DONE]"));
        } catch (error) {
          controller.enqueue(encodeEvent(JSON.stringify({ error: toWireError(error) })));
        }
        controller.close();
      },
      async cancel() {
        await deltas.return?.();
      },
    },
    { highWaterMark: 0 },
  );

  function encodeDelta(delta: ChatDelta): Uint8Array | undefined {
    switch (delta.type) {
      case "text-delta":
        return encodeChoice({ content: delta.text });
      case "reasoning-delta":
        return encodeChoice({ reasoning_content: delta.text });
      case "tool-call-start":
        ids[delta.index] = delta.id;
        return encodeCall(delta.index, {
          ...(delta.id && { id: delta.id }),
          type: "function",
          function: { name: delta.name, arguments: "" },
        });
      case "tool-call-delta":
        return encodeCall(delta.index, { function: { arguments: delta.arguments } });
      case "tool-call": {
        // an id that came late or that this library created
        const { id } = delta.toolCall;
        return ids[delta.index] === id ? undefined : encodeCall(delta.index, { id });
      }
      default:
        return undefined;
    }
  }

  function encodeCall(index: number, fields: object): Uint8Array {
    return encodeChoice({ tool_calls: [{ index, ...fields }] });
  }
}
