import { useEffect } from "react";
import { demoPrompts } from "../../demo/prompts.js";
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
