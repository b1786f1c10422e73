import { createChatStore, type RecordStorage, type ThreadMessage } from "@sluice/core";
import { type UseChatStreamResult, useChatStream } from "@sluice/react";
import type { Conversation } from "@sluice/react/app";
import { createContext, use, useMemo } from "react";
import { client, storage } from "../client.js";
import { toast } from "../ui/popups.js";
import { type ChatSettings, hasTools, targetOf, tools } from "./settings.js";

/** Text of the message that asks for the rest of an answer. */
export const CONTINUE = "Continue";

/** Verbs of the chat around a component. They keep their identity, so that no row renders for them. */
export type ChatVerbs = Pick<
  UseChatStreamResult,
  "send" | "retry" | "regenerate" | "edit" | "switchBranch" | "approve" | "deny" | "addToolResult"
>;

/** Text of the last question; a message that asks for the rest of an answer is none. */
export function lastQuestion(messages: readonly ThreadMessage[]): string | undefined {
  return messages.findLast(({ role, content }) => role === "user" && content !== CONTINUE)?.content;
}

/** Shows a chat with the settings of the room. A message that is sent while an answer is in flight is queued. */
export function useChat(id: string, settings: ChatSettings, storage?: RecordStorage) {
  const instructions = settings.instructions.trim();
  const chat = useChatStream({
    id,
    whenBusy: "queue",
    ...(storage && { storage }),
    ...(instructions && { instructions }),
    ...(hasTools(settings) && { tools }),
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

/** Saves a conversation as a file: Markdown to read, JSON with everything. */
export async function exportChat({ id, title }: Conversation, type: "md" | "json"): Promise<void> {
  const messages = await messagesOf(id);
  const text = type === "json" ? JSON.stringify({ title, messages }, null, 2) : markdownOf(title, messages);
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "chat"}.${type}`;
  link.click();
  URL.revokeObjectURL(url);
  toast("Chat exported");
}

/** Reads the shown branch of a stored chat. */
function messagesOf(id: string): Promise<readonly ThreadMessage[]> {
  const chat = createChatStore(client, { id, storage, model: "alpha-v4.1-flash" });
  return new Promise((resolve) => {
    const unsubscribe = chat.subscribe(read);
    read();
    function read(): void {
      const { isRestoring, messages } = chat.getSnapshot();
      if (isRestoring) return;
      resolve(messages);
      unsubscribe();
      chat.close();
    }
  });
}

function markdownOf(title: string, messages: readonly ThreadMessage[]): string {
  const parts = messages
    .filter(({ content }) => content !== "")
    .map(({ role, content, model }) => `## ${role === "user" ? "You" : (model ?? "Answer")}\n\n${content}\n`);
  return [`# ${title}\n`, ...parts].join("\n");
}
