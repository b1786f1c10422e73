import type { Conversation, UseConversationsResult } from "@sluice/react/app";
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
import { openRoute } from "../routes.js";
import { toast } from "../ui/popups.js";
import { movedWords } from "../words.js";
import type { Action } from "./actions.js";
import { openRail, shownFolder } from "./commands.js";
import { canShare, exportChat, shareChat } from "./transfer.js";

type List = Pick<UseConversationsResult, "folders" | "pin" | "move" | "rename" | "remove" | "restore">;

/** Actions of the palette for the open chat. */
export function chatActionsOf(chat: Conversation, list: List): readonly Action[] {
  const { id, isPinned, folder } = chat;
  const actions: (Action | false)[] = [
    {
      label: isPinned ? "Unpin this chat" : "Pin this chat",
      icon: <Pin />,
      run: () => list.pin(id, !isPinned),
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
    canShare && { label: "Share this chat", icon: <Share />, run: () => void shareChat(chat) },
    { label: "Export as Markdown", icon: <Download />, run: () => void exportChat(chat, "md") },
    { label: "Export as JSON", icon: <FileJson />, run: () => void exportChat(chat, "json") },
    { label: "Delete this chat", icon: <Trash2 />, run: () => removeChat(list, id) },
  ];
  return actions.filter((action) => action !== false);
}

/** Actions for the open chat that take the text of the search as a name. */
export function namedActionsOf({ id }: Conversation, list: List, name: string): readonly Action[] {
  const rename = {
    label: `Rename this chat to “${name}”`,
    icon: <Pencil />,
    isForText: true,
    run: () => list.rename(id, name),
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
  list.move(id, folder);
  toast(movedWords(folder));
}

function showFolder(folder: string): void {
  shownFolder.set(folder);
  openRail();
}

function removeChat({ remove, restore }: List, id: string): void {
  remove(id);
  toast("Chat deleted", {
    onUndo() {
      restore(id);
      openRoute({ room: "chat", id }, { isReplaced: true });
    },
  });
}
