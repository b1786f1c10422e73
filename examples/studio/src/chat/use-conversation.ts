import type { ThreadTurn } from "@sluice/core";
import { useChatStream } from "@sluice/react";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { storage } from "../stored.js";
import { tools } from "../tools/tools.js";
import { useStickToBottom } from "../use-stick-to-bottom.js";
import type { ConversationActions } from "./actions.js";
import { type ChatSettings, targetOf, toolsOf } from "./settings.js";

/** A conversation, with its verbs as buttons need them: each leads back to the text field. */
export function useConversation(id: string, settings: ChatSettings) {
  const chat = useChatStream({
    id,
    storage,
    ...(toolsOf(settings).isOn && { tools }),
    ...targetOf(settings),
  });
  const { messages, status, error, isRestoring, send, stop, reset } = chat;
  const { retry, regenerate, edit, switchBranch, approve, deny, addToolResult } = chat;
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
    (text: string, images: readonly File[] = []): Promise<ThreadTurn> => {
      const turn = send(text, { images });
      catchUp();
      return turn;
    },
    [send, catchUp],
  );
  const halt = useCallback(() => {
    stop();
    focusField();
  }, [stop, focusField]);

  const actions = useMemo((): ConversationActions => {
    const follow = (turn: Promise<ThreadTurn>) => {
      catchUp();
      return turn;
    };
    return {
      switchBranch,
      retry: () => void follow(retry()),
      regenerate: (messageId) => void follow(regenerate(messageId)),
      edit: (messageId, text, options) => follow(edit(messageId, text, options)),
      approve: (toolCallId) => void follow(approve(toolCallId)),
      deny: (toolCallId) => void follow(deny(toolCallId)),
      answerCall: (toolCallId, output) => void follow(addToolResult(toolCallId, output)),
    };
  }, [catchUp, switchBranch, retry, regenerate, edit, approve, deny, addToolResult]);

  return {
    messages,
    status,
    error,
    isBusy,
    isRestoring,
    field,
    box,
    isAway,
    catchUp,
    ask,
    halt,
    reset,
    actions,
  };
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
