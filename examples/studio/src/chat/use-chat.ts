import type { RecordStorage } from "@sluice/core";
import { type UseChatStreamResult, useChatStream } from "@sluice/react";
import { createContext, use, useMemo } from "react";
import { useValue } from "../value.js";
import { type ChatSettings, hasTools, targetOf, tools } from "./settings.js";

/** Verbs of the chat around a component. They keep their identity, so that no row renders for them. */
export type ChatVerbs = Pick<
  UseChatStreamResult,
  "send" | "retry" | "regenerate" | "edit" | "switchBranch" | "approve" | "deny" | "addToolResult"
>;

/** Shows a chat with the settings of the room. A message that is sent while an answer is in flight is queued. */
export function useChat(id: string, settings: ChatSettings, storage?: RecordStorage) {
  const loadedTools = useValue(tools);
  const instructions = settings.instructions.trim();
  const chat = useChatStream({
    id,
    whenBusy: "queue",
    ...(storage && { storage }),
    ...(instructions && { instructions }),
    ...(hasTools(settings) && { tools: loadedTools }),
    ...targetOf(settings),
  });
  const { send, retry, regenerate, edit, switchBranch, approve, deny, addToolResult } = chat;
  const verbs: ChatVerbs = useMemo(
    () => ({ send, retry, regenerate, edit, switchBranch, approve, deny, addToolResult }),
    [send, retry, regenerate, edit, switchBranch, approve, deny, addToolResult],
  );
  return { ...chat, verbs, isBusy: chat.status === "submitted" || chat.status === "streaming" };
}

/** A chat as `useChat` returns it. */
export type Chat = ReturnType<typeof useChat>;

export const ChatContext = createContext<ChatVerbs | undefined>(undefined);

/** The verbs of the chat around this component. */
export function useVerbs(): ChatVerbs {
  const verbs = use(ChatContext);
  if (!verbs) throw new Error("useVerbs needs a ChatContext around it");
  return verbs;
}
