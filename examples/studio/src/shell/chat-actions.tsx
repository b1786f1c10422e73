import {
  type ChatMessage,
  type Conversation,
  createChatStore,
  type InitialMessage,
  type UseConversationsResult,
} from "@sluice/react";
import {
  Download,
  FileJson,
  Folder,
  FolderMinus,
  FolderOpen,
  Pencil,
  Pin,
  Share,
  Trash2,
} from "lucide-react";
import * as v from "valibot";
import { shareFile } from "@/components/sluice/download";
import { saveText } from "@/components/sluice/save-file";
import { client, storage } from "../client.js";
import { createId, openRoute } from "../rooms.js";

import { toast } from "../ui/popups.js";
import { movedWords, transferWords } from "../words.js";
import type { Action } from "./actions.js";
import { openRail, shownFolder } from "./commands.js";

type List = Pick<UseConversationsResult, "folders" | "update" | "remove" | "restore">;

/** Actions of the palette for the open chat. */
export function chatActionsOf(chat: Conversation, list: List): readonly Action[] {
  const { id, isPinned, folder } = chat;
  const actions: (Action | false)[] = [
    {
      label: isPinned ? "Unpin this chat" : "Pin this chat",
      icon: <Pin />,
      run: () => list.update(id, { isPinned: !isPinned }),
    },
    ...list.folders
      .filter((name) => name !== folder)
      .map((name) => ({
        label: `Move this chat to “${name}”`,
        icon: <Folder />,
        run: () => moveChat(list, id, name),
      })),
    folder !== undefined && {
      label: `Take this chat out of “${folder}”`,
      icon: <FolderMinus />,
      run: () => moveChat(list, id, ""),
    },
    { label: "Share this chat as a file", icon: <Share />, run: () => void shareChat(chat) },
    { label: "Export as Markdown", icon: <Download />, run: () => void exportChat(chat, "md") },
    { label: "Export as JSON", icon: <FileJson />, run: () => void exportChat(chat, "json") },
    { label: "Delete this chat", icon: <Trash2 />, run: () => removeChat(list, id, true) },
  ];
  return actions.filter((action) => action !== false);
}

/** Actions for the open chat that take the text of the search as a name. */
export function namedActionsOf({ id }: Conversation, list: List, name: string): readonly Action[] {
  const rename = {
    label: `Rename this chat to “${name}”`,
    icon: <Pencil />,
    isForText: true,
    run: () => list.update(id, { title: name }),
  };
  // a folder that is there already has a row of its own
  if (list.folders.includes(name)) return [rename];
  const move = {
    label: `Move this chat to the new folder “${name}”`,
    icon: <Folder />,
    isForText: true,
    run: () => moveChat(list, id, name),
  };
  return [rename, move];
}

/** Actions that show the chats of one folder alone, or all. */
export function folderActionsOf(folders: readonly string[], shown: string | undefined): readonly Action[] {
  const all = { label: "Show all chats", icon: <FolderMinus />, run: () => shownFolder.set(undefined) };
  return [
    ...folders
      .filter((name) => name !== shown)
      .map((name) => ({ label: `Show “${name}” only`, icon: <FolderOpen />, run: () => showFolder(name) })),
    ...(shown === undefined ? [] : [all]),
  ];
}

function moveChat(list: List, id: string, folder: string): void {
  list.update(id, { folder });
  toast(movedWords(folder));
}

function showFolder(folder: string): void {
  shownFolder.set(folder);
  openRail();
}

/** Deletes a chat, and offers the way back: to its place, too, where it was open. */
export function removeChat(
  { remove, restore }: Pick<List, "remove" | "restore">,
  id: string,
  isOpen: boolean,
): void {
  remove(id);
  toast("Chat deleted", {
    onUndo() {
      restore(id);
      if (isOpen) openRoute({ room: "chat", id }, { isReplaced: true });
    },
  });
}

/** Kinds of files that a chat is written to: Markdown to read, JSON with everything. */
type ChatFile = "md" | "json";

/** Saves a chat as a file. */
export async function exportChat(conversation: Conversation, type: ChatFile): Promise<void> {
  const { text, name } = await fileOf(conversation, type);
  saveText(text, name);
  toast(transferWords.exported);
}

/** Shares a chat as the file that `importChat` reads, or saves it where the browser shares no files. No link is made. */
export async function shareChat(conversation: Conversation): Promise<void> {
  const { text, name } = await fileOf(conversation, "json");
  // browsers hand on plain text, but no JSON
  const file = canShare
    ? new File([text], `${name}.txt`, { type: "text/plain" })
    : new File([text], name, { type: "application/json" });
  if ((await shareFile(file)) === "saved") toast(transferWords.saved);
}

const canShare =
  navigator.canShare?.({ files: [new File([""], "chat.txt", { type: "text/plain" })] }) ?? false;

async function fileOf({ id, title }: Conversation, type: ChatFile): Promise<{ text: string; name: string }> {
  const messages = await messagesOf(id);
  const text = type === "json" ? JSON.stringify({ title, messages }, null, 2) : markdownOf(title, messages);
  return { text, name: `${title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "chat"}.${type}` };
}

/** Reads the shown branch of a stored chat. */
function messagesOf(id: string): Promise<readonly ChatMessage[]> {
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

function markdownOf(title: string, messages: readonly ChatMessage[]): string {
  const parts = messages
    .filter(({ content }) => content !== "")
    .map(({ role, content, model }) => `## ${role === "user" ? "You" : (model ?? "Answer")}\n\n${content}\n`);
  return [`# ${title}\n`, ...parts].join("\n");
}

/** Form of an export; the core checks each message. */
const ChatExport = v.object({
  messages: v.pipe(v.array(v.looseObject({ role: v.string() })), v.minLength(1)),
});

/** Asks for a file that `exportChat` has written as JSON, or `shareChat`, and opens it as a chat of its own. */
export function importChat(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = "application/json,.json,text/plain,.txt";
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
