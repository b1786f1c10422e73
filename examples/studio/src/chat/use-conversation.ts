import { useChatStream } from "@sluice/react";
import { useCallback, useEffect, useRef } from "react";
import { useStickToBottom } from "../use-stick-to-bottom.js";
import { type ChatSettings, targetOf } from "./settings.js";

/** The chat, with its verbs as buttons need them: each leads back to the text field. */
export function useConversation(settings: ChatSettings) {
  const { messages, status, send, stop, regenerate, clear } = useChatStream({
    id: "studio",
    ...targetOf(settings),
  });
  const isBusy = status === "submitted" || status === "streaming";
  const field = useRef<HTMLTextAreaElement>(null);
  const { box, isAway, jumpToEnd } = useStickToBottom<HTMLDivElement>(messages.length > 0);
  useEscape(isBusy, stop);

  const focusField = useCallback(() => {
    // except where that would open a keyboard over the answer
    if (!matchMedia("(pointer: coarse)").matches) field.current?.focus();
  }, []);
  const catchUp = useCallback(() => {
    jumpToEnd();
    focusField();
  }, [jumpToEnd, focusField]);
  const ask = useCallback(
    (text: string) => {
      void send(text);
      catchUp();
    },
    [send, catchUp],
  );
  const askAgain = useCallback(() => {
    void regenerate();
    catchUp();
  }, [regenerate, catchUp]);
  const halt = useCallback(() => {
    stop();
    focusField();
  }, [stop, focusField]);
  const startOver = useCallback(() => {
    clear();
    focusField();
  }, [clear, focusField]);

  return { messages, status, isBusy, field, box, isAway, catchUp, ask, askAgain, halt, startOver };
}

/** Stops with Escape wherever the focus is, but not out of an input method's list of candidates. */
function useEscape(isActive: boolean, onEscape: () => void): void {
  useEffect(() => {
    if (!isActive) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !event.isComposing && !event.defaultPrevented) onEscape();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isActive, onEscape]);
}
