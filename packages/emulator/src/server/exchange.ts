import type { HandlerResponse } from "./http.js";
import type { RequestBody } from "./request-body.js";
import type { OpenRecord } from "./request-log.js";
import type { Scripted } from "./scripted.js";

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
  /** The rule of the script for this request. */
  readonly scripted: Scripted | undefined;
}

/** Handles the requests of one path and method. */
export type Handler = (exchange: Exchange) => HandlerResponse | Promise<HandlerResponse>;
