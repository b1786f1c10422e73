import { useStore } from "@nanostores/react";
import { type Conversation, useConversations } from "@sluice/react";
import { Download, FileJson, Share } from "lucide-react";
import { useEffect } from "react";
import { Button } from "@/components/sluice/button";
import { ConversationList } from "@/components/sluice/conversation-list";
import { SHARE } from "@/components/sluice/media-words";
import { chatListOptions } from "../client.js";
import { hrefOf, openRoute, useRoute } from "../rooms.js";
import type { MenuItem } from "../ui/popups.js";
import { exportChat, removeChat, shareChat } from "./chat-actions.js";
import { railDrawerIsOpen, shownFolder } from "./commands.js";

/** The conversations of this browser, by folder and day. */
export function History() {
  const { id: openId } = useRoute();
  const folder = useStore(shownFolder);
  const list = useConversations({ ...chatListOptions, folder });
  const { conversations, folders, removed, isRestoring, hasMore, showMore, ...verbs } = list;
  const hasEnded = folder !== undefined && !isRestoring && !folders.includes(folder);
  // also where another tab moved its last chat
  useEffect(() => {
    if (hasEnded) shownFolder.set(undefined);
  }, [hasEnded]);
  const isGone = removed.some(({ id }) => id === openId);
  // also where another tab removed it
  useEffect(() => {
    if (isGone) openRoute({ room: "chat" }, { isReplaced: true });
  }, [isGone]);
  return (
    <>
      {conversations.length === 0 && (
        <p className="px-3 py-2 text-sm text-muted">{isRestoring ? "Loading…" : "No chats yet"}</p>
      )}
      <ConversationList
        conversations={conversations}
        activeId={openId}
        hrefOf={(id) => hrefOf({ room: "chat", id })}
        onOpen={() => railDrawerIsOpen.set(false)}
        onUpdate={verbs.update}
        folders={folders}
        folder={folder}
        onFolder={(name) => shownFolder.set(name)}
        onRenameFolder={verbs.renameFolder}
        onRemove={({ id }) => removeChat(verbs, id, id === openId)}
        actionsOf={filesOf}
      />
      {hasMore && (
        <Button look="quiet" onClick={showMore}>
          Show more
        </Button>
      )}
    </>
  );
}

function filesOf(conversation: Conversation): readonly MenuItem[] {
  const save = (type: "md" | "json") => void exportChat(conversation, type);
  return [
    { label: SHARE, icon: <Share aria-hidden />, onSelect: () => void shareChat(conversation) },
    { label: "Export Markdown", icon: <Download aria-hidden />, onSelect: () => save("md") },
    { label: "Export JSON", icon: <FileJson aria-hidden />, onSelect: () => save("json") },
  ];
}
