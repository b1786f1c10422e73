import { createChatStore, type ThreadMessage } from "@sluice/core";
import type { Conversation } from "@sluice/react/app";
import { client, storage } from "../client.js";
import { toast } from "../ui/toast.js";

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
