import { commonFaults, type Faults, readFaults } from "../server/faults.js";

/** Faults of the prompt of a video request, written `[[name]]`, with their effects. */
export const videoFaults = {
  ...commonFaults,
  slow: "takes five minutes instead of one or two, divided by the speed",
  fail: "the task ends as FAILURE, or failed",
  "no-url": "the task succeeds without a URL; [[no-url:2]] only in the first 2 queries that see the success",
  flat: "gamma-video-2.0 and gamma-video-fast answer queries without the envelope",
  unknown: "the first 2 queries show a status word that nobody knows; [[unknown:5]] the first 5",
  late: "the first 2 queries answer 404, as if the task were not there yet; [[late:5]] the first 5",
  busy: "the first 2 queries answer 429 with Retry-After: 1; [[busy:5]] the first 5",
} as const;

/** Faults of one prompt. */
export type VideoFaults = Faults<keyof typeof videoFaults>;

/** Reads the faults of a prompt. */
export function readVideoFaults(prompt: string, added?: string): VideoFaults {
  return readFaults(prompt, videoFaults, added);
}
