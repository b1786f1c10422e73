import type { Answer } from "./http.js";
import type { RequestBody } from "./request-body.js";
import type { OpenRecord } from "./request-log.js";
import type { Scripted } from "./scripted.js";

/** One request that is being answered. */
export interface Exchange extends RequestBody {
  /** The `x-request-id` of the answer. */
  readonly id: string;
  readonly request: Request;
  /** Origin of the URLs of files, `https://gateway.test`. */
  readonly origin: string;
  /** The segment in place of the path's `{…}`; empty if it has none. */
  readonly param: string;
  readonly record: OpenRecord;
  /** The part of the script that fits this request. */
  readonly scripted: Scripted | undefined;
  /** True where unknown fields are refused. */
  readonly strict: boolean;
}

/** Answers the requests of one path and method. */
export type Handler = (exchange: Exchange) => Answer | Promise<Answer>;
