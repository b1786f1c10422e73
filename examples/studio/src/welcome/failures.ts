import { calls } from "../inspector/calls.js";
import { cutConnection } from "../network.js";
import { ask, promptOf } from "./asks.js";

/** A failure to try, and the chip that plays it. */
export interface Failure {
  readonly label: string;
  /** What happens, for the tooltip. */
  readonly hint: string;
  readonly play: () => void;
}

/** Time that the page is offline, in milliseconds: long enough to see, short enough to be resumed. */
const OFFLINE_MS = 4000;
/** Time that an answer streams before it is disturbed, in milliseconds. */
const CALM_MS = 1500;

/** The failures of "Break it". */
export const failures: readonly Failure[] = [
  {
    label: "429",
    hint: "Refused twice, then answered",
    play: () => ask({ prompt: `[[429:2]] ${promptOf("canal-lock")}` }),
  },
  {
    label: "Cut",
    hint: "The stream ends too early",
    play: () => ask({ prompt: `[[truncate]] ${promptOf("quadratic")}` }),
  },
  {
    label: "Stall",
    hint: "The stream falls silent",
    play: () => ask({ prompt: `[[stall]] ${promptOf("weekend")}` }),
  },
  {
    label: "Offline",
    hint: "No network for 4 seconds, then resumed",
    play() {
      whileStreaming(() => cutConnection(OFFLINE_MS));
      ask({ prompt: `[[slow]] ${promptOf("show-me")}` });
    },
  },
  {
    label: "Reload now",
    hint: "The page reloads in mid-answer",
    play() {
      whileStreaming(() => location.reload());
      ask({ prompt: `[[slow]] ${promptOf("show-me")}` });
    },
  },
];

/** Runs `disturb` when the next chat answer has streamed for a moment. */
function whileStreaming(disturb: () => void): void {
  const known = new Set(calls.getSnapshot().map(({ callId }) => callId));
  const unsubscribe = calls.subscribe(() => {
    const next = calls.getSnapshot().find(({ callId, kind }) => kind === "chat" && !known.has(callId));
    if (!next?.steps.some(({ type }) => type === "first-chunk" || type === "end")) return;
    unsubscribe();
    if (!next.steps.some(({ type }) => type === "end")) setTimeout(disturb, CALM_MS);
  });
}
