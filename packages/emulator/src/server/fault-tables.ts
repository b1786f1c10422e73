/** Faults of every request that creates something and is not streamed. */
const commonFaults = {
  "429":
    "refused with 429 and Retry-After: 1; [[429:2]] refuses 2 requests with that body, then responds to one",
  "500": "fails with 500; [[500:2]] fails 2 requests with that body, then responds to one",
  stall: "it is made, but no response comes for as long as the client waits",
  truncate:
    "it is made, but the response is half of the JSON; [[truncate:1]] breaks one response to that body, and the next is complete; the other faults take a number, too",
  drop: "it is made, but the connection breaks within the response",
  malformed: "it is made, but the response is broken JSON",
} as const;

/** Faults of the `Name` of an asset, written `[[name]]`, with their effects. */
const assetFaults = {
  ...commonFaults,
  slow: "takes about a minute until it is Active instead of some seconds, divided by the speed",
  fail: "the asset becomes Failed",
} as const;

/** Faults of the last user message, written `[[name]]`, with their effects. */
const chatFaults = {
  "429": commonFaults["429"],
  "500": commonFaults["500"],
  slow: "a long response of at least 50 deltas, at least 20 ms apart whatever the speed",
  stall: "some text, then silence for as long as the client waits",
  truncate:
    "some text, then the stream ends as if complete, without finish_reason or [DONE]; [[truncate:1]] cuts one response to that body, and the next is whole; the other faults take a number, too",
  unconfirmed: "some text, then [DONE] without finish_reason",
  drop: "some text, then the connection breaks",
  malformed: "some text, then a frame of broken JSON",
  "error-frame": "some text, then an error object inside the stream",
  length: "the response is cut, finish_reason length",
  filter: "the response is cut, finish_reason content_filter",
  json: "the response is JSON",
} as const;

/** Faults of any string of an epsilon request, written `[[name]]`, with their effects. */
const epsilonFaults = {
  ...commonFaults,
  slow: "takes five minutes instead of one or two, divided by the speed",
  fail: "the task ends as failed",
} as const;

/** Faults of the prompt of an image request, written `[[name]]`, with their effects. */
const imageFaults = {
  ...commonFaults,
  slow: "takes about a minute instead of some seconds, divided by the speed",
  partial: "the second image of a sequence is an error in place of a url",
} as const;

/** Faults of the prompt of a video request, written `[[name]]`, with their effects. */
const videoFaults = {
  ...commonFaults,
  slow: "takes five minutes instead of one or two, divided by the speed",
  fail: "the task ends as FAILURE, or failed",
  "no-url": "the task succeeds without a URL; [[no-url:2]] only in the first 2 queries that see the success",
  flat: "gamma-video-2.0 and gamma-video-fast respond to queries without the envelope",
  unknown: "the first 2 queries show an unknown status word; [[unknown:5]] the first 5",
  late: "the first 2 queries get 404, as if the task were not there yet; [[late:5]] the first 5",
  busy: "the first 2 queries get 429 with Retry-After: 1; [[busy:5]] the first 5",
} as const;

/** The faults of each endpoint, with their effects. */
export const faultTables = {
  chat: chatFaults,
  images: imageFaults,
  videos: videoFaults,
  assets: assetFaults,
  epsilon: epsilonFaults,
};
