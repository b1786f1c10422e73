import type { Answer } from "./http.js";
import type { OpenRecord } from "./recorder.js";

/** One request on its way to an answer. */
export interface Exchange {
  /** What the answer's `x-request-id` will say. */
  readonly id: string;
  readonly request: Request;
  /** The request's body; already read. */
  readonly text: string;
  readonly record: OpenRecord;
}

/** What stands behind a path and a method. */
export type Handler = (exchange: Exchange) => Answer | Promise<Answer>;
