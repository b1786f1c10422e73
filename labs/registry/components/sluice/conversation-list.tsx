"use client";

import type { Conversation, UseConversationsResult } from "@sluice/react";
import { Ellipsis, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { IconButton } from "@/components/sluice/button";
import { Menu } from "@/components/sluice/popups";
import { useListFocus } from "@/components/sluice/use-list-focus";
import { conversationWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

interface ConversationListProps extends ConversationHandlers {
  /** Conversations of `useConversations`, newest first. */
  readonly conversations: readonly Conversation[];
  /** Id of the open conversation. */
  readonly activeId?: string | undefined;
}

interface ConversationHandlers {
  /** Address of a conversation. @default `onOpen` alone opens it */
  readonly createHref?: (id: string) => string;
  readonly onOpen?: (id: string) => void;
  /** Changes the title, or pins the conversation: `update` of `useConversations`. */
  readonly onUpdate: UseConversationsResult["update"];
  /** Small images of conversations, by id. @default titles alone */
  readonly thumbnails?: ReadonlyMap<string, string>;
  /** Deletes the conversation: `remove`. `restore` brings it back. */
  readonly onRemove: (conversation: Conversation) => unknown;
}

/** Conversations by the day of their last message, pinned conversations first, each with its state. */
export function ConversationList({ conversations, activeId, ...handlers }: ConversationListProps) {
  const focus = useListFocus<HTMLDivElement>();
  const today = new Date().setHours(0, 0, 0, 0);
  return (
    <div {...focus} className="outline-none">
      {days.map((day) => {
        const list = conversations.filter((conversation) => findDay(conversation, today) === day);
        return (
          list.length > 0 && (
            <div key={day} className="pb-3">
              <h2 className="px-3 py-1 text-xs font-medium text-muted-foreground">
                {conversationWords.days[day]}
              </h2>
              <ul>
                {list.map((conversation) => (
                  <Row
                    key={conversation.id}
                    {...handlers}
                    conversation={conversation}
                    isOpen={conversation.id === activeId}
                  />
                ))}
              </ul>
            </div>
          )
        );
      })}
    </div>
  );
}

type Day = keyof (typeof conversationWords)["days"];
const days: readonly Day[] = ["pinned", "today", "yesterday", "lastDays", "older"];
const DAY_MS = 86_400_000;

function findDay({ isPinned, updatedAt }: Conversation, today: number): Day {
  if (isPinned) return "pinned";
  if (updatedAt >= today) return "today";
  if (updatedAt >= today - DAY_MS) return "yesterday";
  return updatedAt >= today - 7 * DAY_MS ? "lastDays" : "older";
}

interface RowProps extends ConversationHandlers {
  readonly conversation: Conversation;
  readonly isOpen: boolean;
}

/** Opens a conversation, and has a menu of its actions. */
function Row({ conversation, isOpen, createHref, onOpen, onUpdate, thumbnails, onRemove }: RowProps) {
  const { id, title, status, isPinned = false } = conversation;
  const [isRenaming, setIsRenaming] = useState(false);
  const state = conversationWords.states[status];
  const thumbnail = thumbnails?.get(id);
  const name = title || conversationWords.untitled;
  if (isRenaming)
    return (
      <li data-row={id}>
        <TitleForm
          title={title}
          onRename={(text) => onUpdate(id, { title: text })}
          onClose={() => setIsRenaming(false)}
        />
      </li>
    );
  const link = {
    "aria-current": isOpen ? ("page" as const) : undefined,
    onClick: () => onOpen?.(id),
    className:
      "flex min-h-8 min-w-0 grow cursor-pointer items-center gap-2 rounded-lg ps-3 text-start text-sm pointer-coarse:min-h-11",
    children: (
      <>
        {thumbnail && <img src={thumbnail} alt="" className="size-6 shrink-0 rounded object-cover" />}
        <span dir="auto" className="truncate">
          {name}
        </span>
        {state && (
          <span
            role="img"
            aria-label={state}
            data-tip={state}
            className={cn(
              "size-2 shrink-0 rounded-full",
              status === "error" ? "bg-destructive" : "animate-pulse bg-info",
            )}
          />
        )}
      </>
    ),
  };
  return (
    <li
      data-row={id}
      className={cn("group/row flex items-center rounded-lg hover:bg-secondary", isOpen && "bg-secondary")}
    >
      {createHref ? <a href={createHref(id)} {...link} /> : <button type="button" {...link} />}
      <Menu
        align="end"
        trigger={
          <IconButton
            label={conversationWords.actions(name)}
            className="opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
          >
            <Ellipsis aria-hidden />
          </IconButton>
        }
        items={[
          {
            label: conversationWords.rename,
            icon: <Pencil aria-hidden />,
            onSelect: () => setIsRenaming(true),
          },
          {
            label: isPinned ? conversationWords.unpin : conversationWords.pin,
            icon: isPinned ? <PinOff aria-hidden /> : <Pin aria-hidden />,
            onSelect: () => onUpdate(id, { isPinned: !isPinned }),
          },
          {
            label: conversationWords.remove,
            icon: <Trash2 aria-hidden />,
            onSelect: () => void onRemove(conversation),
            isDanger: true,
          },
        ]}
      />
    </li>
  );
}

interface TitleFormProps {
  readonly title: string;
  readonly onRename: (title: string) => void;
  readonly onClose: () => void;
}

/** The field for a title. It replaces the row. Escape changes nothing. */
function TitleForm({ title, onRename, onClose }: TitleFormProps) {
  const [text, setText] = useState(title);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    onRename(text);
    onClose();
  };
  return (
    <form onSubmit={submit}>
      <input
        aria-label={conversationWords.title}
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
        className="min-h-8 w-full rounded-lg border border-primary bg-card px-3 text-sm pointer-coarse:min-h-11"
      />
    </form>
  );
}
