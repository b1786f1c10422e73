import type { Attributes } from "@opentelemetry/api";
import type { CallInfo, ClientEvent } from "@sluice/core";
import { omitUndefined } from "./omit-undefined.js";

/** A step of a call. */
export type CallEvent = Extract<ClientEvent, { readonly kind: unknown }>;
/** The last step of a call. */
export type EndEvent = Extract<CallEvent, { readonly type: "end" }>;
/** The start or end of a tool run. */
export type ToolEvent = Extract<ClientEvent, { readonly toolCallId: string }>;
/** The end of a tool run. */
export type ToolEndEvent = Extract<ToolEvent, { readonly type: "tool-end" }>;
/** A request that belongs to a call. */
export type CallRequest = CallInfo & Pick<CallEvent, "callId" | "kind">;
type Settings = NonNullable<CallInfo["settings"]>;

/** Names of operations that the conventions lack, by kind of call. A kind that is not listed polls a task. */
const OTHER_OPERATIONS: Partial<Record<CallRequest["kind"], string>> = {
  upload: "upload_media",
  archive: "get_archive",
};

/** Returns the name of a call's operation, from the conventions if they have one. */
export function getOperation({ kind, path }: Pick<CallRequest, "kind" | "path">): string {
  // reading a response that the proxy has stored is not inference
  if (kind === "chat") return path.startsWith("/v1/chat/streams/") ? "fetch_response" : "chat";
  if (kind === "image" || /\/generations$|2video$/.test(path)) return "generate_content";
  if (kind === "asset") return /create/i.test(path) ? "create_asset" : "get_asset";
  return OTHER_OPERATIONS[kind] ?? "get_task";
}

/** Returns true for an operation that generates content. Others use no tokens, and have a separate duration metric. */
export function isInference(operation: string): boolean {
  return operation === "chat" || operation === "generate_content";
}

/** Creates the attributes that a span has at its start, so that a sampler can use them. */
export function createRequestAttributes(call: CallRequest, provider: string): Attributes {
  const { callId, model, path, chatId, messageId, settings = {} } = call;
  return omitUndefined({
    "gen_ai.operation.name": getOperation(call),
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "gen_ai.conversation.id": chatId,
    "sluice.message.id": messageId,
    "sluice.call.id": callId,
    "url.path": path,
    "gen_ai.output.type": getOutputType(call),
    ...createSettingAttributes(settings),
  });
}

/** Returns the requested output type: an image, or `json` or `text` of the `response_format`. */
function getOutputType({ kind, settings }: CallRequest): string | undefined {
  if (kind === "image") return kind;
  return /^(?:json|text)(?=_|$)/.exec(String(settings?.response_format))?.[0];
}

/** Creates the attributes of a request's settings. Drops values of the wrong type, which may be any text. */
function createSettingAttributes(settings: Settings): Attributes {
  const { max_tokens, temperature, top_p, seed, n, reasoning_effort: level, stop, stream } = settings;
  const stops = [stop].flat().filter((text): text is string => typeof text === "string");
  return {
    "gen_ai.request.max_tokens": toNumber(max_tokens),
    "gen_ai.request.temperature": toNumber(temperature),
    "gen_ai.request.top_p": toNumber(top_p),
    "gen_ai.request.seed": toNumber(seed),
    "gen_ai.request.choice.count": n === 1 ? undefined : toNumber(n),
    "gen_ai.request.reasoning.level":
      typeof level === "string" && /^\w{1,20}$/.test(level) ? level : undefined,
    "gen_ai.request.stop_sequences": stops.length > 0 ? stops : undefined,
    "gen_ai.request.stream": stream === true ? true : undefined,
  };
}

function toNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** Creates the attributes of a call that has ended. They contain no text of a request, response or error. */
export function createEndAttributes(event: EndEvent): Attributes {
  const { responseId, responseModel, outcome } = event;
  return omitUndefined({
    "sluice.outcome": outcome,
    "error.type": getErrorType(event),
    "gen_ai.response.id": responseId,
    "gen_ai.response.model": responseModel,
    "gen_ai.response.finish_reasons": getFinishReasons(event),
    ...(isInference(getOperation(event)) && createUsageAttributes(event)),
  });
}

function getFinishReasons({ kind, finishReason, outcome }: EndEvent): string[] | undefined {
  if (finishReason !== undefined) return [finishReason];
  // a chat that was sent should have a finish reason
  return kind === "chat" && outcome !== "not-sent" ? ["error"] : undefined;
}

/** Creates the attributes of a call's tokens and images. */
export function createUsageAttributes({ usage = {} }: Pick<EndEvent, "usage">): Attributes {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage;
  return {
    "gen_ai.usage.input_tokens": usage.prompt_tokens,
    "gen_ai.usage.output_tokens": usage.completion_tokens ?? usage.output_tokens,
    "gen_ai.usage.cache_read.input_tokens": input?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    "gen_ai.usage.reasoning.output_tokens": output?.reasoning_tokens,
    "sluice.generated_images": usage.generated_images,
  };
}

/** Returns the class of a call's error. Undefined without an error, or if the call was stopped. */
export function getErrorType({ error, outcome }: Pick<EndEvent, "error" | "outcome">): string | undefined {
  return error instanceof Error && outcome !== "stopped" ? getErrorClass(error) : undefined;
}

/** Returns the class of an error: the HTTP status of a refusal, else the name of the error. */
export function getErrorClass(error: Error): string {
  const { status } = error as { readonly status?: unknown };
  if (typeof status === "number" && status >= 400) return String(status);
  // a tool's error comes from the app, and its name may be any text
  return /^[\w.$]{1,60}$/.test(error.name) ? error.name : "_OTHER";
}

/** Creates the attributes that the span of a tool has at its start. */
export function createToolAttributes({ name, toolCallId, chatId, messageId }: ToolEvent): Attributes {
  return omitUndefined({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": toolCallId,
    "gen_ai.conversation.id": chatId,
    "sluice.message.id": messageId,
  });
}

/** Returns the class of a tool's failure. Undefined without a failure, or if the run was stopped. */
export function getToolError({ state, error }: ToolEndEvent): string | undefined {
  if (state !== "failed") return undefined;
  return error ? getErrorClass(error) : "_OTHER";
}

/** Returns the server of a client. A path such as `/api` belongs to the page's server. */
export function createServerAttributes(baseURL: string): Attributes {
  const page = globalThis.location?.href;
  if (!URL.canParse(baseURL, page)) return {};
  const { hostname, port, protocol } = new URL(baseURL, page);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "http:" ? 80 : 443) };
}
