import type { Answer } from "./http.js";
import type { OpenRecord } from "./recorder.js";
import type { RequestBody } from "./request-body.js";

/** One request on its way to an answer. */
export interface Exchange extends RequestBody {
  /** What the answer's `x-request-id` will say. */
  readonly id: string;
  readonly request: Request;
  /** Where the addresses of files begin, `https://gateway.test`. */
  readonly origin: string;
  /** What stood in place of the path's `{…}`; empty if it has none. */
  readonly param: string;
  readonly record: OpenRecord;
  /** Refuses fields that the model is not known to have. */
  readonly strict: boolean;
}

/** What stands behind a path and a method. */
export type Handler = (exchange: Exchange) => Answer | Promise<Answer>;
