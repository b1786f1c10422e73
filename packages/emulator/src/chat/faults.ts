import { type Faults, readFaults } from "../server/faults.js";

/** Faults of the last user message, written `[[name]]`, with their effects. */
export const chatFaults = {
  "429": "refused with 429 and Retry-After: 1; [[429:2]] refuses 2 requests with that body, then answers one",
  "500": "fails with 500; [[500:2]] fails 2 requests with that body, then answers one",
  slow: "a long answer of at least 50 deltas, at least 20 ms apart whatever the speed",
  stall: "some text, then silence for as long as the client waits",
  truncate:
    "some text, then the stream ends as if complete, without finish_reason or [DONE]; [[truncate:1]] cuts one answer to that body, and the next is whole; so it is with the others",
  unconfirmed: "some text, then [DONE] without finish_reason",
  drop: "some text, then the connection breaks",
  malformed: "some text, then a frame of broken JSON",
  "error-frame": "some text, then an error object inside the stream",
  length: "the answer is cut, finish_reason length",
  filter: "the answer is cut, finish_reason content_filter",
  json: "the answer is JSON",
} as const;

/** Faults of one message. */
export type ChatFaults = Faults<keyof typeof chatFaults>;

/** Reads the faults of a message. */
export function readChatFaults(message: string, added?: string): ChatFaults {
  return readFaults(message, chatFaults, added);
}
