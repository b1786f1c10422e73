import { isRecord } from "@sluice/core/extend";
import type { assumptions } from "../base/assumptions.js";
import type { Exchange } from "./exchange.js";
import {
  createBadRequest,
  createJSON,
  createNotFound,
  createServerError,
  createUnauthorized,
  createUnknownId,
  type HandlerResponse,
} from "./http.js";

type JSONObject = Record<string, unknown>;

type Rows = typeof assumptions;

/** Name of an assumption about the gateway that requests can check: the values of the option `differs`. */
export type GatewayDifference = {
  [Name in keyof Rows]: Rows[Name] extends { check: "use" } | { group: "Worker" } ? never : Name;
}[keyof Rows];

/** Changes a response so that an assumption does not hold. `nth` counts the responses of this path from 1. */
type Change = (response: HandlerResponse, exchange: Exchange, nth: number) => HandlerResponse;

/** One change for each assumption that a gateway can break. */
const changes: Readonly<Record<GatewayDifference, Change>> = {
  "no-redirect": (_, { record }) => ({
    status: 308,
    headers: { location: `/moved${record.path}` },
    body: "",
  }),
  "chat-path": removeEndpoint("/v1/chat/completions"),
  "image-path": removeEndpoint("/v1/images/generations"),
  "video-path": removeEndpoint("/v1/video/generations"),
  "asset-path": removeEndpoint("/gamma/asset/CreateAsset"),
  "asset-lookup": removeEndpoint("/gamma/asset/GetAsset"),
  "epsilon-path": removeEndpoint("/epsilon/v1/videos"),
  "unknown-path": (response) =>
    readCode(response) === "not_found"
      ? { status: 200, headers: { "content-type": "text/html" }, body: "<!doctype html><p>Welcome" }
      : response,
  "key-required": (response, { request }) =>
    response.status === 401 && !request.headers.has("authorization")
      ? createBadRequest("The body is empty.")
      : response,
  "wrong-key": (response, { request }) =>
    response.status === 401 && request.headers.has("authorization")
      ? createBadRequest("The key has no account.", undefined, "no_account")
      : response,
  "key-accepted": (response, { request }) =>
    request.headers.has("authorization") ? createUnauthorized() : response,
  "error-body": (response) =>
    response.status < 400
      ? response
      : { ...response, headers: { "content-type": "text/plain" }, body: "Something is wrong." },
  "invalid-request": (response) => (response.status === 400 ? createServerError() : response),
  "no-version": (response) => ({ ...response, headers: { ...response.headers, "api-version": "2026-11" } }),
  // `x-request-id` is added after all changes
  "request-id": (response) => response,

  "client-stream": changeFrames((frame, nth) =>
    nth < 2 ? frame : nth === 2 ? { error: { message: "The model left.", code: "gone" } } : undefined,
  ),
  "client-whole": changeJSON("/v1/chat/completions", ({ choices: _, ...rest }) => rest),
  "stream-type": (response, { record }) =>
    isStream(response, record.path)
      ? { ...response, headers: { "content-type": "text/plain; charset=utf-8" } }
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
  "max-tokens": changeUsage((usage) => ({
    ...usage,
    completion_tokens: Number(usage["completion_tokens"]) + 1000,
    total_tokens: Number(usage["total_tokens"]) + 1000,
  })),
  thinking: changeChoices(({ delta, message, ...choice }) => ({
    ...choice,
    ...(isRecord(delta) && { delta: moveThinking(delta) }),
    ...(isRecord(message) && { message: moveThinking(message) }),
  })),
  "tool-calls": changeChoices(({ delta, ...choice }) => ({ ...choice, delta: removeCallIds(delta) })),
  "unknown-field": (response, { record }) =>
    record.unknownFields.length > 0
      ? createBadRequest(`${record.unknownFields[0]} is not a field.`, record.unknownFields[0])
      : response,
  "delta-tools": refuseIf(({ model, tools }) => model === "delta-5.3" && tools !== undefined),
  "delta-fields": refuseIf(({ model, temperature }) => model === "delta-5.3" && temperature !== undefined),
  unbuffered: (response, { record }) =>
    isStream(response, record.path)
      ? {
          ...response,
          async *body(signal) {
            let whole = "";
            for await (const frame of readFrames(response, signal)) whole += frame;
            yield whole;
          },
        }
      : response,

  "image-result": changeJSON("/v1/images/generations", (result) => ({
    ...result,
    data: (result["data"] as JSONObject[]).map(({ url, ...image }) => ({ ...image, link: url })),
  })),
  "image-size": refuseIf(({ model, size }) => /image/.test(String(model)) && size === undefined),
  "file-url": (response, { request, record }) =>
    record.path.startsWith("/files/") && !request.headers.has("authorization")
      ? createUnauthorized()
      : response,

  "unknown-task": (response, { record }) =>
    readCode(response) === "task_not_found" && record.path.startsWith("/v1/")
      ? createJSON({ code: "success", message: "", data: { task_id: "", status: "QUEUED" } })
      : response,
  "task-known": (response, { record }, nth) =>
    isTask(record.path) && nth === 1 && response.status === 200
      ? createUnknownId("There is no task yet.", "task_not_found")
      : response,
  "task-shape": changeTask(({ status, ...task }) => ({ ...task, phase: status })),
  "task-status": changeTask((task) => ({ ...task, status: task["status"] === "SUCCESS" ? "DONE" : "BUSY" })),
  "task-url": changeTask(({ result_url, ...task }) => ({
    ...task,
    fail_reason: "",
    data: {},
    ...(result_url ? { download: result_url } : {}),
  })),
  "task-cancel": (response, { request, record }) =>
    request.method === "DELETE" && isTask(record.path)
      ? createUnknownId("There is no such task.", "task_not_found")
      : response,
  "epsilon-shapes": (response, { record }) =>
    record.path.startsWith("/epsilon/")
      ? { ...response, headers: { "content-type": "text/plain" }, body: "There is no such video." }
      : response,
  "asset-form": (response, { request }) =>
    request.headers.get("content-type")?.startsWith("multipart/")
      ? { ...createBadRequest("Send JSON."), status: 415 }
      : response,
  "task-progress": changeTask((task, nth) => ({ ...task, progress: `${Math.max(0, 90 - nth * 10)}%` })),
};

/** Names of the assumptions that the option `differs` breaks. */
export const differenceNames = Object.keys(changes) as readonly GatewayDifference[];

/**
 * Creates a function that breaks the named assumptions in each response.
 *
 * @throws TypeError for an unknown name
 */
export function createDifferences(names: readonly GatewayDifference[]) {
  for (const name of names)
    if (!Object.hasOwn(changes, name))
      throw new TypeError(
        `differs: there is no ${JSON.stringify(name)}; give some of ${differenceNames.join(", ")}`,
      );
  const counts = new Map<string, number>();
  return { change, hasRequestId: !names.includes("request-id"), clear: () => counts.clear() };

  function change(response: HandlerResponse, exchange: Exchange): HandlerResponse {
    const nth = (counts.get(exchange.record.path) ?? 0) + 1;
    if (names.length > 0) counts.set(exchange.record.path, nth);
    return names.reduce((changed, name) => changes[name](changed, exchange, nth), response);
  }
}

const DONE = "[DONE]";

/** Responds to a path, and to all paths below it, as to an unknown path. */
function removeEndpoint(removed: string): Change {
  return (response, { record: { path } }) =>
    path === removed || path.startsWith(`${removed}/`) ? createNotFound(path, "") : response;
}

function refuseIf(isRefused: (body: JSONObject) => boolean): Change {
  return (response, { record: { body } }) =>
    isRecord(body) && response.status === 200 && isRefused(body)
      ? createBadRequest("A field is not accepted.")
      : response;
}

function changeJSON(path: string, change: (value: JSONObject, nth: number) => object): Change {
  return (response, { record }, nth) =>
    response.status === 200 && typeof response.body === "string" && record.path.startsWith(path)
      ? { ...response, body: JSON.stringify(change(JSON.parse(response.body), nth)) }
      : response;
}

function changeTask(change: (task: JSONObject, nth: number) => object): Change {
  return changeJSON("/v1/video/generations/", ({ data, ...rest }, nth) => ({
    ...rest,
    data: change(data as JSONObject, nth),
  }));
}

/**
 * Changes the events of a chat's stream.
 *
 * @param change gets the JSON of an event, or the text `[DONE]`. Returns what to send, a list of it, or undefined
 */
function changeFrames(change: (frame: unknown, nth: number) => unknown): Change {
  return (response, { record }) => {
    if (!isStream(response, record.path)) return response;
    return {
      ...response,
      async *body(signal) {
        let nth = 0;
        for await (const frame of readFrames(response, signal)) {
          const text = frame.slice("data: ".length).trim();
          const changed = change(text === DONE ? DONE : JSON.parse(text), nth++);
          for (const event of [changed].flat())
            if (event !== undefined) yield `data: ${event === DONE ? DONE : JSON.stringify(event)}\n\n`;
        }
      },
    };
  };
}

/** Changes the choices of streams and of whole completions. */
function changeChoices(change: (choice: JSONObject) => object): Change {
  return changeCompletions((value) =>
    isRecord(value) && Array.isArray(value["choices"])
      ? { ...value, choices: value["choices"].map(change) }
      : value,
  );
}

function changeUsage(change: (usage: JSONObject) => object): Change {
  return changeCompletions((value) =>
    isRecord(value) && isRecord(value["usage"]) ? { ...value, usage: change(value["usage"]) } : value,
  );
}

/** Changes each chunk of a stream, and each whole completion. */
function changeCompletions(change: (value: unknown) => unknown): Change {
  const inStream = changeFrames(change);
  const whole = changeJSON("/v1/chat/completions", (value) => change(value) as object);
  return (response, exchange, nth) => whole(inStream(response, exchange, nth), exchange, nth);
}

/** Moves the thinking of a message into its text. */
function moveThinking({ reasoning_content: thinking, ...message }: JSONObject): JSONObject {
  return thinking ? { ...message, content: `${thinking}${message["content"] ?? ""}` } : message;
}

/** Removes `index` and `id` from the tool calls of a delta. */
function removeCallIds(delta: unknown): unknown {
  if (!isRecord(delta) || !Array.isArray(delta["tool_calls"])) return delta;
  return { ...delta, tool_calls: delta["tool_calls"].map(({ index: _, id: __, ...call }) => call) };
}

function isStream({ body, status }: HandlerResponse, path: string): boolean {
  return status === 200 && typeof body === "function" && path === "/v1/chat/completions";
}

function isTask(path: string): boolean {
  return /^\/v1\/video\/generations\/./.test(path);
}

/** Reads the events of a stream. The emulator writes one event in each chunk. */
async function* readFrames({ body }: HandlerResponse, signal: AbortSignal): AsyncGenerator<string> {
  if (typeof body === "function") for await (const frame of body(signal)) yield String(frame);
}

/** Returns the `error.code` of a refusal. */
function readCode({ status, body }: HandlerResponse): unknown {
  if (status < 400 || typeof body !== "string") return undefined;
  return (JSON.parse(body) as { error?: { code?: unknown } }).error?.code;
}
