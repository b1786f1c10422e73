import { useEffect } from "react";
import { demoPrompts } from "../../demo/prompts.js";
import { calls } from "../inspector/calls.js";
import { cutConnection } from "../network.js";
import { openRoute, routeOf } from "../routes.js";
import { createValue, useValue } from "../value.js";

/** A question that a card or the palette sends for the user. */
export interface Ask {
  readonly prompt: string;
  /** Says that the model needs the tools of the studio. */
  readonly needsTools?: boolean;
}

const waiting = createValue<Ask | undefined>(undefined);

/** Sends a question in the open chat, or in a new one from another room. */
export function ask(question: Ask): void {
  if (routeOf(location.hash).room !== "chat") openRoute({ room: "chat" });
  waiting.set(question);
}

/** Passes each question of `ask` to the chat on screen, once. */
export function useAsks(onAsk: (question: Ask) => void): void {
  const question = useValue(waiting);
  useEffect(() => {
    if (question === undefined || question !== waiting.getSnapshot()) return;
    waiting.set(undefined);
    onAsk(question);
  }, [question, onAsk]);
}

/** Text of an offered prompt: the emulator of the demo has an answer for it. */
export function promptOf(id: string): string {
  return demoPrompts.find((it) => it.id === id)?.prompt ?? "";
}

/** A failure to try, and the chip that plays it. */
export interface Failure {
  readonly label: string;
  /** Effect, for the tooltip. */
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
