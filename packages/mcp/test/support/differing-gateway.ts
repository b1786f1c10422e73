import { isRecord, parseJSON } from "@sluice/core/extend";
import type { CheckedAssumption } from "../../src/doctor/assumptions.js";

/** Name of an assumption that a gateway can break. */
export type GatewayAssumption = Exclude<CheckedAssumption, `worker-${string}`>;

type Fetch = (request: Request) => Promise<Response>;
type JSONObject = Record<string, unknown>;

/** A request with its parsed body. */
interface Sent {
  readonly request: Request;
  readonly path: string;
  readonly body: unknown;
}

/** Changes a response so that an assumption does not hold. */
type Change = (response: Response, sent: Sent) => Response | Promise<Response>;

/** Returns a `fetch` whose gateway breaks the named assumptions. */
export function breakAssumptions(fetch: Fetch, names: readonly GatewayAssumption[]): Fetch {
  return async (request) => {
    const body = parseJSON(await request.clone().text());
    const sent = { request, path: new URL(request.url).pathname, body };
    let response = await fetch(request);
    for (const name of names) response = await changes[name](response, sent);
    return response;
  };
}

const CHATS = "/v1/chat/completions";
const DONE = "[DONE]";

const changes: Readonly<Record<GatewayAssumption, Change>> = {
  "no-redirect": (_, { path }) => new Response(null, { status: 308, headers: { location: `/moved${path}` } }),
  "chat-path": closePath(CHATS),
  "image-path": closePath("/v1/images/generations"),
  "video-path": closePath("/v1/video/generations"),
  "asset-path": closePath("/gamma/asset/CreateAsset"),
  "asset-lookup": closePath("/gamma/asset/GetAsset"),
  "epsilon-path": closePath("/epsilon/v1/videos"),
  "unknown-path": async (response) =>
    (await readCode(response)) === "not_found"
      ? new Response("<!doctype html><p>Welcome", { headers: { "content-type": "text/html" } })
      : response,
  "key-required": (response, { request }) =>
    response.status === 401 && !request.headers.has("authorization")
      ? refuse(400, "The body is empty.")
      : response,
  "wrong-key": (response, { request }) =>
    response.status === 401 && request.headers.has("authorization")
      ? refuse(400, "The key has no account.", "no_account")
      : response,
  "key-accepted": (response, { request }) =>
    request.headers.has("authorization") ? refuse(401, "The key is not valid.") : response,
  "error-body": (response) =>
    response.status < 400 ? response : new Response("Something is wrong.", { status: response.status }),
  "invalid-request": (response) => (response.status === 400 ? refuse(500, "The gateway failed.") : response),
  "no-version": changeHeaders((headers) => headers.set("api-version", "2026-11")),
  "request-id": changeHeaders((headers) => headers.delete("x-request-id")),

  "client-stream": changeFrames((frame, nth) =>
    nth < 2 ? frame : nth === 2 ? { error: { message: "The model left.", code: "gone" } } : undefined,
  ),
  "client-whole": changeCompletion(({ choices: _, ...rest }) => rest),
  "stream-type": (response) =>
    isStream(response)
      ? new Response(response.body, { headers: { "content-type": "text/plain" } })
      : response,
  "stream-chunks": changeChoices(({ delta, ...choice }) => ({ ...choice, ...(delta as object) })),
  "stream-finish": changeChoices((choice) => ({ ...choice, finish_reason: null })),
  "stream-done": changeFrames((frame) => (frame === DONE ? undefined : frame)),
  "stream-id": changeFrames((frame, nth) => (isRecord(frame) ? { ...frame, id: `chatcmpl-${nth}` } : frame)),
  "usage-option": refuseIf(({ stream_options: options }) => options !== undefined),
  "usage-reported": changeFrames((frame) => (isRecord(frame) && frame["usage"] ? undefined : frame)),
  "usage-last": changeFrames((frame) =>
    isRecord(frame) && frame["usage"]
      ? [frame, { ...frame, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }]
      : frame,
  ),
  "max-tokens": changeBoth((value) => {
    if (!isRecord(value) || !isRecord(value["usage"])) return value;
    const { completion_tokens: completion, total_tokens: total } = value["usage"];
    const more = { completion_tokens: Number(completion) + 1000, total_tokens: Number(total) + 1000 };
    return { ...value, usage: { ...value["usage"], ...more } };
  }),
  thinking: changeChoices(({ delta, message, ...choice }) => ({
    ...choice,
    ...(isRecord(delta) && { delta: moveThinking(delta) }),
    ...(isRecord(message) && { message: moveThinking(message) }),
  })),
  "tool-calls": changeChoices(({ delta, ...choice }) => ({ ...choice, delta: removeIndex(delta) })),
  "unknown-field": (response) =>
    response.headers.has("x-sluice-unknown-fields") ? refuse(400, "A field is not known.") : response,
  "delta-tools": refuseIf(({ model, tools }) => model === "delta-5.3" && tools !== undefined),
  "delta-fields": refuseIf(({ model, temperature }) => model === "delta-5.3" && temperature !== undefined),
  unbuffered: async (response) =>
    isStream(response) ? new Response(await response.text(), response) : response,

  "unknown-task": async (response, { path }) =>
    path.startsWith("/v1/") && (await readCode(response)) === "task_not_found"
      ? Response.json({ code: "success", message: "", data: { task_id: "", status: "QUEUED" } })
      : response,
  "task-cancel": (response, { request }) =>
    request.method === "DELETE" ? refuse(404, "There is no such task.", "task_not_found") : response,
  "epsilon-shapes": (response, { path }) =>
    path.startsWith("/epsilon/")
      ? new Response("There is no such video.", { status: response.status })
      : response,
  "asset-form": (response, { request }) =>
    request.headers.get("content-type")?.startsWith("multipart/") ? refuse(415, "Send JSON.") : response,
};

function refuse(status: number, message: string, code?: string): Response {
  return Response.json({ error: { message, ...(code && { code }) } }, { status });
}

function refuseIf(isRefused: (body: JSONObject) => boolean): Change {
  return (response, { body }) =>
    isRecord(body) && response.status === 200 && isRefused(body)
      ? refuse(400, "A field is not accepted.")
      : response;
}

/** Responds as if there were nothing at a path and below. */
function closePath(closed: string): Change {
  return (response, { path }) =>
    path === closed || path.startsWith(`${closed}/`)
      ? refuse(404, `There is no endpoint at ${path}.`, "not_found")
      : response;
}

function changeHeaders(change: (headers: Headers) => void): Change {
  return ({ body, status, headers: given }) => {
    const headers = new Headers(given);
    change(headers);
    return new Response(body, { status, headers });
  };
}

/** Changes a chat that is not streamed. */
function changeCompletion(change: (completion: JSONObject) => unknown): Change {
  return async (response, { path }) =>
    response.status === 200 && path === CHATS && !isStream(response)
      ? new Response(JSON.stringify(change((await response.json()) as JSONObject)), response)
      : response;
}

/**
 * Changes the events of a stream; the emulator writes each event as one piece.
 *
 * @param change gets the JSON of an event, or the text `[DONE]`. Returns what to send, a list of it, or undefined
 */
function changeFrames(change: (frame: unknown, nth: number) => unknown): Change {
  return (response) => {
    if (!isStream(response)) return response;
    let nth = 0;
    const changed = new TransformStream<string, string>({
      transform(event, controller) {
        const text = event.slice("data: ".length).trim();
        for (const one of [change(text === DONE ? DONE : JSON.parse(text), nth++)].flat())
          if (one !== undefined) controller.enqueue(`data: ${one === DONE ? DONE : JSON.stringify(one)}\n\n`);
      },
    });
    const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(changed);
    return new Response(events?.pipeThrough(new TextEncoderStream()) ?? null, response);
  };
}

/** Changes the chunks of a stream, and a chat that is not streamed. */
function changeBoth(change: (value: unknown) => unknown): Change {
  const changeStream = changeFrames(change);
  const changeWhole = changeCompletion(change);
  return async (response, sent) => changeWhole(await changeStream(response, sent), sent);
}

function changeChoices(change: (choice: JSONObject) => object): Change {
  return changeBoth((value) =>
    isRecord(value) && Array.isArray(value["choices"])
      ? { ...value, choices: value["choices"].map(change) }
      : value,
  );
}

function moveThinking({ reasoning_content: thinking, ...message }: JSONObject): JSONObject {
  return thinking ? { ...message, content: `${thinking}${message["content"] ?? ""}` } : message;
}

function removeIndex(delta: unknown): unknown {
  if (!isRecord(delta) || !Array.isArray(delta["tool_calls"])) return delta;
  return { ...delta, tool_calls: delta["tool_calls"].map(({ index: _, id: __, ...call }) => call) };
}

function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

/** Returns the `error.code` of a refusal. */
async function readCode(response: Response): Promise<unknown> {
  if (response.status < 400) return undefined;
  const { error } = (await response.clone().json()) as { error?: { code?: unknown } };
  return error?.code;
}
