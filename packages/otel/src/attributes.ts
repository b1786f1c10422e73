import type { Attributes } from "@opentelemetry/api";
import type { CallInfo, ClientEvent } from "@sluice/core";
import { known } from "./known.js";

/** A step of a call. */
export type CallEvent = Extract<ClientEvent, { readonly kind: unknown }>;
/** The last step of a call. */
export type EndEvent = Extract<CallEvent, { readonly type: "end" }>;
/** The begin or the end of a tool's run. */
export type ToolEvent = Extract<ClientEvent, { readonly toolCallId: string }>;
/** The end of a tool's run. */
export type ToolEndEvent = Extract<ToolEvent, { readonly type: "tool-end" }>;
/** A request that belongs to a call. */
export type CallRequest = CallInfo & Pick<CallEvent, "callId" | "kind">;
type Settings = NonNullable<CallInfo["settings"]>;

/** Names of operations that the conventions do not have. */
const OTHERS = { video: "get_task", epsilon: "get_task", upload: "upload_media", archive: "get_archive" };

/** Names the operation of a call, from the conventions where they have one. */
export function operationOf({ kind, path }: Pick<CallRequest, "kind" | "path">): string {
  // a response that the proxy has stored: nothing is inferred
  if (kind === "chat") return path.startsWith("/v1/chat/streams/") ? "fetch_response" : "chat";
  if (kind === "image" || path === "/v1/video/generations" || /2video$/.test(path)) return "generate_content";
  if (kind === "asset") return /create/i.test(path) ? "create_asset" : "get_asset";
  return OTHERS[kind];
}

/** Returns true for an operation in which a model makes something. The others have no tokens, and their own duration. */
export function isInference(operation: string): boolean {
  return operation === "chat" || operation === "generate_content";
}

/** Returns the attributes that a span has from its begin, so that a sampler can decide by them. */
export function requestAttributes(call: CallRequest, provider: string): Attributes {
  const { callId, model, path, chatId, messageId, settings = {} } = call;
  return known({
    "gen_ai.operation.name": operationOf(call),
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "gen_ai.conversation.id": chatId,
    "sluice.message.id": messageId,
    "sluice.call.id": callId,
    "url.path": path,
    "gen_ai.output.type": outputTypeOf(call),
    ...settingAttributes(settings),
  });
}

/** Names the output that the request asks for: an image, or the kind of its `response_format`, `json_object` or `text`. */
function outputTypeOf({ kind, settings }: CallRequest): string | undefined {
  if (kind === "image") return kind;
  return /^(?:json|text)(?=_|$)/.exec(String(settings?.response_format))?.[0];
}

/** Returns the settings of a request. A value of another type than the conventions have may be any text. */
function settingAttributes(settings: Settings): Attributes {
  const { max_tokens, temperature, top_p, seed, n, reasoning_effort: level, stop, stream } = settings;
  const stops = [stop].flat().filter((text): text is string => typeof text === "string");
  return {
    "gen_ai.request.max_tokens": numberOf(max_tokens),
    "gen_ai.request.temperature": numberOf(temperature),
    "gen_ai.request.top_p": numberOf(top_p),
    "gen_ai.request.seed": numberOf(seed),
    "gen_ai.request.choice.count": n === 1 ? undefined : numberOf(n),
    "gen_ai.request.reasoning.level":
      typeof level === "string" && /^\w{1,20}$/.test(level) ? level : undefined,
    "gen_ai.request.stop_sequences": stops.length > 0 ? stops : undefined,
    "gen_ai.request.stream": stream === true ? true : undefined,
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Returns the attributes of a call that has ended. None has a text of a request, an answer or an error. */
export function endAttributes(event: EndEvent): Attributes {
  const { responseId, responseModel, outcome } = event;
  return known({
    "sluice.outcome": outcome,
    "error.type": errorTypeOf(event),
    "gen_ai.response.id": responseId,
    "gen_ai.response.model": responseModel,
    "gen_ai.response.finish_reasons": finishReasonsOf(event),
    ...(isInference(operationOf(event)) && usageAttributes(event)),
  });
}

function finishReasonsOf({ kind, finishReason, outcome }: EndEvent): string[] | undefined {
  if (finishReason !== undefined) return [finishReason];
  // a chat that was sent should have had one
  return kind === "chat" && outcome !== "not-sent" ? ["error"] : undefined;
}

/** Returns the tokens and images of a call. */
export function usageAttributes({ usage = {} }: Pick<EndEvent, "usage">): Attributes {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage;
  return {
    "gen_ai.usage.input_tokens": usage.prompt_tokens,
    "gen_ai.usage.output_tokens": usage.completion_tokens ?? usage.output_tokens,
    "gen_ai.usage.cache_read.input_tokens": input?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    "gen_ai.usage.reasoning.output_tokens": output?.reasoning_tokens,
    "sluice.generated_images": usage.generated_images,
  };
}

/** Names the class of the error of a call: undefined where it has none, or was stopped. */
export function errorTypeOf({ error, outcome }: Pick<EndEvent, "error" | "outcome">): string | undefined {
  return error instanceof Error && outcome !== "stopped" ? errorClassOf(error) : undefined;
}

/** Names the class of an error: the HTTP status of a refusal, else the name of the error. */
export function errorClassOf(error: Error): string {
  const { status } = error as { readonly status?: unknown };
  if (typeof status === "number" && status >= 400) return String(status);
  // the name of an error that a tool threw is the app's, and may be any text
  return /^[\w.$]{1,60}$/.test(error.name) ? error.name : "_OTHER";
}

/** Returns the attributes that the span of a tool has from its begin. */
export function toolAttributes({ name, toolCallId, chatId, messageId }: ToolEvent): Attributes {
  return known({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": toolCallId,
    "gen_ai.conversation.id": chatId,
    "sluice.message.id": messageId,
  });
}

/** Names the class of a tool's failure; undefined where it has not failed, or was stopped. */
export function toolErrorOf({ state, error }: ToolEndEvent): string | undefined {
  if (state !== "failed") return undefined;
  return error ? errorClassOf(error) : "_OTHER";
}

/** Names the server of a client. A path, as `/api`, is that of the page. */
export function serverAttributes(baseURL: string): Attributes {
  const page = globalThis.location?.href;
  if (!URL.canParse(baseURL, page)) return {};
  const { hostname, port, protocol } = new URL(baseURL, page);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "http:" ? 80 : 443) };
}
