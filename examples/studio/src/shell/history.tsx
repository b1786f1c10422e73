import { createChatStore, type ThreadMessage } from "@sluice/core";
import { type Conversation, useConversations } from "@sluice/react/app";
import clsx from "clsx";
import { Download, Ellipsis, FileJson, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { chatListOptions, client, storage } from "../client.js";
import { hrefOf, openRoute, useRoute } from "../routes.js";
import { Button, IconButton } from "../ui/button.js";
import { saveText } from "../ui/code.js";
import { Menu, toast } from "../ui/popups.js";
import { listWords, sourceWords } from "../words.js";
import { railDrawerIsOpen } from "./commands.js";

const DAY_MS = 86_400_000;

/** The conversations of this browser, by day. */
export function History() {
  const { id: openId } = useRoute();
  const { conversations, removed, isRestoring, hasMore, showMore, ...verbs } =
    useConversations(chatListOptions);
  const isGone = removed.some(({ id }) => id === openId);
  // also where another tab removed it
  useEffect(() => {
    if (isGone) openRoute({ room: "chat" }, { isReplaced: true });
  }, [isGone]);
  if (conversations.length === 0)
    return <p className="px-3 py-2 text-sm text-muted">{isRestoring ? "Loading…" : "No chats yet"}</p>;

  const remove = ({ id }: Conversation) => {
    verbs.remove(id);
    toast("Chat deleted", {
      onUndo() {
        verbs.restore(id);
        if (id === openId) openRoute({ room: "chat", id }, { isReplaced: true });
      },
    });
  };
  return (
    <>
      {byDay(conversations).map(([day, list]) => (
        <div key={day} className="pb-3">
          <h2 className="px-3 py-1 text-xs font-medium text-muted">{day}</h2>
          <ul>
            {list.map((conversation) => (
              <Row
                key={conversation.id}
                conversation={conversation}
                isOpen={conversation.id === openId}
                onRename={(title) => verbs.rename(conversation.id, title)}
                onPin={() => verbs.pin(conversation.id, !conversation.isPinned)}
                onRemove={() => remove(conversation)}
              />
            ))}
          </ul>
        </div>
      ))}
      {hasMore && (
        <Button look="quiet" onClick={showMore}>
          Show more
        </Button>
      )}
    </>
  );
}

interface RowProps {
  readonly conversation: Conversation;
  readonly isOpen: boolean;
  readonly onRename: (title: string) => void;
  readonly onPin: () => void;
  readonly onRemove: () => void;
}

function Row({ conversation, isOpen, onRename, onPin, onRemove }: RowProps) {
  const { id, title, status, isPinned } = conversation;
  const [isRenaming, setIsRenaming] = useState(false);
  const words = statuses[status];
  const save = (type: "md" | "json") => void exportChat(conversation, type);
  if (isRenaming)
    return (
      <li>
        <RenameForm title={title} onRename={onRename} onClose={() => setIsRenaming(false)} />
      </li>
    );
  return (
    <li className={clsx("group/row flex items-center rounded-lg hover:bg-hover", isOpen && "bg-hover")}>
      <a
        href={hrefOf({ room: "chat", id })}
        aria-current={isOpen ? "page" : undefined}
        onClick={() => railDrawerIsOpen.set(false)}
        className="control flex min-w-0 grow items-center gap-2 rounded-lg pl-3 text-sm"
      >
        <span dir="auto" className="truncate">
          {title || "New chat"}
        </span>
        {words && (
          <span
            role="img"
            aria-label={words}
            data-tip={words}
            className={clsx("size-2 shrink-0 rounded-full", status === "error" ? "bg-danger" : "bg-accent", {
              "animate-pulse": status !== "error",
            })}
          />
        )}
      </a>
      <Menu
        align="end"
        trigger={
          <IconButton
            label={`Actions for ${title || "New chat"}`}
            className="opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
          >
            <Ellipsis aria-hidden />
          </IconButton>
        }
        items={[
          { label: "Rename", icon: <Pencil aria-hidden />, onSelect: () => setIsRenaming(true) },
          isPinned
            ? { label: "Unpin", icon: <PinOff aria-hidden />, onSelect: onPin }
            : { label: "Pin", icon: <Pin aria-hidden />, onSelect: onPin },
          "line",
          { label: "Export Markdown", icon: <Download aria-hidden />, onSelect: () => save("md") },
          { label: "Export JSON", icon: <FileJson aria-hidden />, onSelect: () => save("json") },
          "line",
          { label: "Delete", icon: <Trash2 aria-hidden />, onSelect: onRemove, isDanger: true },
        ]}
      />
    </li>
  );
}

const statuses: Readonly<Record<Conversation["status"], string | undefined>> = {
  ready: undefined,
  answering: "Answering",
  "answering-elsewhere": sourceWords({ isResumed: false, isElsewhere: true }),
  "requires-action": listWords.waits,
  error: listWords.failed,
};

interface RenameFormProps {
  readonly title: string;
  readonly onRename: (title: string) => void;
  readonly onClose: () => void;
}

function RenameForm({ title, onRename, onClose }: RenameFormProps) {
  const [text, setText] = useState(title);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    onRename(text);
    onClose();
  };
  return (
    <form onSubmit={submit}>
      <input
        aria-label="Title"
        dir="auto"
        value={text}
        // the menu gives the focus back to its button first
        ref={(input) => {
          if (!input || document.activeElement === input) return;
          setTimeout(() => input.select());
        }}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => submit()}
        onKeyDown={(event) => event.key === "Escape" && onClose()}
        className="control w-full rounded-lg border border-accent bg-raised px-3 text-sm"
      />
    </form>
  );
}

/** Groups conversations by the day of their last question: Pinned, Today, Yesterday, Last 7 days, Older. */
function byDay(conversations: readonly Conversation[]): [day: string, list: Conversation[]][] {
  const today = new Date().setHours(0, 0, 0, 0);
  const groups = new Map<string, Conversation[]>();
  for (const conversation of conversations) {
    const day = dayOf(conversation, today);
    groups.set(day, [...(groups.get(day) ?? []), conversation]);
  }
  return [...groups];
}

function dayOf({ isPinned, updatedAt }: Conversation, today: number): string {
  if (isPinned) return "Pinned";
  if (updatedAt >= today) return "Today";
  if (updatedAt >= today - DAY_MS) return "Yesterday";
  return updatedAt >= today - 7 * DAY_MS ? "Last 7 days" : "Older";
}

/** Saves a conversation as a file: Markdown to read, JSON with everything. */
async function exportChat({ id, title }: Conversation, type: "md" | "json"): Promise<void> {
  const messages = await messagesOf(id);
  const text = type === "json" ? JSON.stringify({ title, messages }, null, 2) : markdownOf(title, messages);
  saveText(text, `${title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "chat"}.${type}`);
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
