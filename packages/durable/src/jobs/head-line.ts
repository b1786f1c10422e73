import { describeError, type SentError } from "../host/object-messages.js";
import type { ResponseHead, StoredRefusal } from "./states.js";

/** The first line that a reader receives, as JSON: a missing job, an error, or the head of the response. */
export interface FollowHead {
  readonly isGone?: boolean;
  readonly refusal?: StoredRefusal | undefined;
  /** An error of this reader; the job itself may be fine. */
  readonly error?: SentError;
  readonly head?: ResponseHead | undefined;
  /** True if the response has an empty body. */
  readonly isEmpty?: boolean;
  /** True if another request has begun the job. */
  readonly isReplayed?: boolean;
}

/** Creates the first line of a reader. The body follows it. */
export function createHeadLine(head: FollowHead): string {
  return `${JSON.stringify(head)}\n`;
}

/** Creates the only line of a reader that gets an error instead of a response. */
export function createErrorLine(error: unknown): Uint8Array {
  return new TextEncoder().encode(createHeadLine({ error: describeError(error) }));
}
