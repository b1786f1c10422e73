import { createChatStore, type InitialMessage, type ThreadMessage } from "@sluice/core";
import type { Conversation } from "@sluice/react/app";
import * as v from "valibot";
import { client, storage } from "../client.js";
import { createId, openRoute } from "../routes.js";
import { saveText } from "../ui/code.js";
import { toast } from "../ui/popups.js";
import { transferWords } from "../words.js";

/** Kinds of files that a chat is written to: Markdown to read, JSON with everything. */
export type ChatFile = "md" | "json";

/** Saves a chat as a file. */
export async function exportChat(conversation: Conversation, type: ChatFile): Promise<void> {
  const { text, name } = await fileOf(conversation, type);
  saveText(text, name);
  toast(transferWords.exported);
}

/** Says if this browser hands files to other apps. */
export const canShare = navigator.canShare?.({ files: [new File([""], "chat.md")] }) ?? false;

/** Hands a chat, as a file to read, to another app of the user's choice. */
export async function shareChat(conversation: Conversation): Promise<void> {
  const { text, name } = await fileOf(conversation, "md");
  try {
    await navigator.share({ files: [new File([text], name, { type: "text/markdown" })], title: name });
  } catch {
    // the user has chosen no app
  }
}

async function fileOf({ id, title }: Conversation, type: ChatFile): Promise<{ text: string; name: string }> {
  const messages = await messagesOf(id);
  const text = type === "json" ? JSON.stringify({ title, messages }, null, 2) : markdownOf(title, messages);
  return { text, name: `${title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "chat"}.${type}` };
}

/** Reads the shown branch of a stored chat. */
function messagesOf(id: string): Promise<readonly ThreadMessage[]> {
  return restored(id, (chat) => chat.getSnapshot().messages);
}

type Chat = ReturnType<typeof createChatStore>;

/** Opens a stored chat, and closes it after `resultOf`. */
function restored<Result>(id: string, resultOf: (chat: Chat) => Result): Promise<Result> {
  const chat = createChatStore(client, { id, storage, model: "alpha-v4.1-flash" });
  return new Promise((resolve) => {
    const unsubscribe = chat.subscribe(read);
    read();
    function read(): void {
      if (chat.getSnapshot().isRestoring) return;
      unsubscribe();
      resolve(resultOf(chat));
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

/** Form of an export; the core checks each message. */
const ChatExport = v.object({
  messages: v.pipe(v.array(v.looseObject({ role: v.string() })), v.minLength(1)),
});

/** Asks for a file that `exportChat` has written as JSON, and opens it as a chat of its own. */
export function importChat(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = "application/json,.json";
  input.onchange = () => void readChat(input.files?.[0]);
  input.click();
}

async function readChat(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    const { messages } = v.parse(ChatExport, JSON.parse(await file.text()));
    const id = createId();
    // the core refuses a message that it can't read, and names it
    await restored(id, (chat) => chat.setMessages(messages as unknown as InitialMessage[]));
    openRoute({ room: "chat", id });
    toast(transferWords.imported);
  } catch {
    toast(transferWords.unreadable);
  }
}
