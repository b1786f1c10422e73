import type { HandlerResponse } from "./http.js";
import type { RequestBody } from "./request-body.js";
import type { OpenRecord } from "./request-log.js";

/** A scripted reply. */
export interface ScriptedReply {
  /** Text of the reply. @default "" */
  readonly content?: string;
  /** Thinking. Sent only if the model and the request think. @default a text of the emulator */
  readonly reasoning?: string;
  /** Tool calls. `arguments` is a value to send as JSON, or a string to send unchanged. @default none */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: unknown }[];
}

/** What the script decides for one request. */
export interface Scripted {
  /** Reply of a chat. Undefined if the emulator writes the reply. */
  readonly reply: ScriptedReply | undefined;
  /** Faults in the syntax of prompts, `[[slow]][[drop]]`. */
  readonly faults: string;
}

/** A request that is being handled. */
export interface Exchange extends RequestBody {
  /** The `x-request-id` of the response. */
  readonly id: string;
  readonly request: Request;
  /** Origin in the URLs of files, `https://gateway.test`. */
  readonly origin: string;
  /** The segment in place of the path's `{…}`, or an empty string. */
  readonly param: string;
  readonly record: OpenRecord;
  /** Undefined if no rule of the script matches. */
  readonly scripted: Scripted | undefined;
}

/** Handles the requests of one path and method. */
export type Handler = (exchange: Exchange) => HandlerResponse | Promise<HandlerResponse>;
