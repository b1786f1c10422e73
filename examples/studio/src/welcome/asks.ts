import { useStore } from "@nanostores/react";
import { atom } from "nanostores";
import { useEffect } from "react";
import { demoPrompts } from "../../demo/prompts.js";
import { cutConnection } from "../client.js";
import { calls } from "../inspector/feed.js";
import { openRoute, routeOf, whileAsking } from "../rooms.js";
import { inspectorView } from "../shell/commands.js";

/** A question that a card or the palette sends for the user. */
export interface Ask {
  readonly prompt: string;
  /** Says that the model needs the tools of the studio. */
  readonly needsTools?: boolean;
  readonly images?: readonly Blob[];
}

/** A question that no chat has taken yet. */
interface WaitingAsk extends Ask {
  readonly settle: (isTaken: boolean) => void;
}

const waiting = atom<WaitingAsk | undefined>(undefined);

/**
 * Sends a question in the open chat, or in a new one from another room. Resolves to true when the chat has it, and to
 * false when it was cancelled before.
 */
export function ask(question: Ask): Promise<boolean> {
  cancelAsk();
  if (routeOf(location.hash).room !== "chat") openRoute({ room: "chat" });
  return whileAsking(() => new Promise((settle) => waiting.set({ ...question, settle })));
}

/** Cancels the question that waits. */
export function cancelAsk(): void {
  waiting.get()?.settle(false);
  waiting.set(undefined);
}

/** The question that waits until the chat is loaded. */
export function useWaitingAsk(): Ask | undefined {
  return useStore(waiting);
}

/** Passes each question of `ask` to the chat on screen, once; to a new one, where the address is of one that is missing. */
export function useAsks(onAsk: (question: Ask) => void, isMissing: boolean): void {
  const question = useStore(waiting);
  useEffect(() => {
    if (question === undefined || question !== waiting.get()) return;
    if (isMissing) return openRoute({ room: "chat" }, { isReplaced: true });
    waiting.set(undefined);
    question.settle(true);
    onAsk(question);
  }, [question, onAsk, isMissing]);
}

/** Prompts of the chat that can be asked as they are. */
export const offered = demoPrompts.filter(
  ({ room, needsPicture, after }) => room === "chat" && !needsPicture && !after,
);

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
    play: () => breakWith(`[[429:2:${newLabel()}]] ${promptOf("canal-lock")}`),
  },
  {
    label: "Cut",
    hint: "The stream ends too early, once",
    play: () => breakWith(`[[truncate:1:${newLabel()}]] ${promptOf("quadratic")}`),
  },
  {
    label: "Stall",
    hint: "The stream falls silent",
    play: () => breakWith(`[[stall]] ${promptOf("weekend")}`),
  },
  {
    label: "Offline",
    hint: "No network for 4 seconds, then resumed",
    play() {
      whileStreaming(() => cutConnection(OFFLINE_MS));
      breakWith(`[[slow]] ${promptOf("show-me")}`);
    },
  },
  {
    label: "Reload now",
    hint: "The page reloads in mid-answer",
    play() {
      whileStreaming(() => location.reload());
      breakWith(`[[slow]] ${promptOf("show-me")}`);
    },
  },
];

/** Makes the label of a count: the emulator counts equal questions, and each press is to fail. */
function newLabel(): string {
  return crypto.randomUUID().slice(0, 4);
}

/** Sends a question that fails. The inspector shows the attempts. */
function breakWith(prompt: string): void {
  inspectorView.set("network");
  void ask({ prompt });
}

/** Runs `disturb` when the next chat answer has streamed for a moment. */
function whileStreaming(disturb: () => void): void {
  const known = new Set(calls.get().map(({ callId }) => callId));
  const unsubscribe = calls.listen(() => {
    const next = calls.get().find(({ callId, kind }) => kind === "chat" && !known.has(callId));
    if (!next?.steps.some(({ type }) => type === "first-chunk" || type === "end")) return;
    unsubscribe();
    if (!next.steps.some(({ type }) => type === "end")) setTimeout(disturb, CALM_MS);
  });
}
