"use client";

import type { Conversation } from "@sluice/react/app";
import { Ellipsis, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { IconButton } from "@/components/sluice/button";
import { Menu, type MenuItem } from "@/components/sluice/popups";
import { conversationWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

type Words = typeof conversationWords;

interface ConversationListProps {
  /** Conversations of `useConversations`, newest first. */
  readonly conversations: readonly Conversation[];
  /** Id of the one that is shown. */
  readonly activeId?: string | undefined;
  /** Address of a conversation. @default it is opened by `onOpen` alone */
  readonly hrefOf?: (id: string) => string;
  readonly onOpen?: (id: string) => void;
  /** Gives it another title: `rename` of `useConversations`. */
  readonly onRename: (id: string, title: string) => unknown;
  /** Puts it before the others, or back: `pin`. */
  readonly onPin: (id: string, isPinned: boolean) => unknown;
  /** Deletes it: `remove`, which `restore` takes back. */
  readonly onRemove: (conversation: Conversation) => unknown;
  /** More actions of a conversation. */
  readonly actionsOf?: (conversation: Conversation) => readonly MenuItem[];
  readonly words?: Partial<Words>;
}

/** Conversations by the day of their last question, with what each one does now. */
export function ConversationList({ conversations, ...props }: ConversationListProps) {
  const words = { ...conversationWords, ...props.words };
  return byDay(conversations, words).map(([day, list]) => (
    <div key={day} className="pb-3">
      <h2 className="px-3 py-1 text-xs font-medium text-muted-foreground">{day}</h2>
      <ul>
        {list.map((conversation) => (
          <Row key={conversation.id} {...props} conversation={conversation} words={words} />
        ))}
      </ul>
    </div>
  ));
}

interface RowProps extends Omit<ConversationListProps, "conversations" | "words"> {
  readonly conversation: Conversation;
  readonly words: Words;
}

function Row({ conversation, activeId, hrefOf, onOpen, onRename, words, ...props }: RowProps) {
  const { id, title, status } = conversation;
  const [isRenaming, setIsRenaming] = useState(false);
  const isOpen = id === activeId;
  const state = words.states[status];
  const name = title || words.untitled;
  if (isRenaming)
    return (
      <li>
        <RenameForm
          title={title}
          label={words.title}
          onRename={(text) => onRename(id, text)}
          onClose={() => setIsRenaming(false)}
        />
      </li>
    );
  const link = {
    "aria-current": isOpen ? ("page" as const) : undefined,
    onClick: () => onOpen?.(id),
    className:
      "flex min-h-8 min-w-0 grow cursor-pointer items-center gap-2 rounded-lg pl-3 text-left text-sm pointer-coarse:min-h-11",
    children: (
      <>
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
              status === "error" ? "bg-destructive" : "animate-pulse bg-primary",
            )}
          />
        )}
      </>
    ),
  };
  return (
    <li className={cn("group/row flex items-center rounded-lg hover:bg-secondary", isOpen && "bg-secondary")}>
      {hrefOf ? <a href={hrefOf(id)} {...link} /> : <button type="button" {...link} />}
      <Menu
        align="end"
        trigger={
          <IconButton
            label={words.actions(name)}
            className="opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
          >
            <Ellipsis aria-hidden />
          </IconButton>
        }
        items={itemsOf(conversation, { ...props, words, onEdit: () => setIsRenaming(true) })}
      />
    </li>
  );
}

interface Choices extends Pick<RowProps, "onPin" | "onRemove" | "actionsOf" | "words"> {
  readonly onEdit: () => void;
}

function itemsOf(
  conversation: Conversation,
  { onPin, onRemove, onEdit, actionsOf = () => [], words }: Choices,
): readonly (MenuItem | "line")[] {
  const { id, isPinned } = conversation;
  const own = actionsOf(conversation);
  return [
    { label: words.rename, icon: <Pencil aria-hidden />, onSelect: onEdit },
    isPinned
      ? { label: words.unpin, icon: <PinOff aria-hidden />, onSelect: () => void onPin(id, false) }
      : { label: words.pin, icon: <Pin aria-hidden />, onSelect: () => void onPin(id, true) },
    ...(own.length > 0 ? (["line", ...own] as const) : []),
    "line",
    {
      label: words.remove,
      icon: <Trash2 aria-hidden />,
      onSelect: () => void onRemove(conversation),
      isDanger: true,
    },
  ];
}

interface RenameFormProps {
  readonly title: string;
  readonly label: string;
  readonly onRename: (title: string) => void;
  readonly onClose: () => void;
}

function RenameForm({ title, label, onRename, onClose }: RenameFormProps) {
  const [text, setText] = useState(title);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    onRename(text);
    onClose();
  };
  return (
    <form onSubmit={submit}>
      <input
        aria-label={label}
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

const DAY_MS = 86_400_000;

/** Groups conversations by the day of their last question: Pinned, Today, Yesterday, Last 7 days, Older. */
function byDay(conversations: readonly Conversation[], words: Words): [day: string, Conversation[]][] {
  const today = new Date().setHours(0, 0, 0, 0);
  const groups = new Map<string, Conversation[]>();
  for (const conversation of conversations) {
    const day = words.days[dayOf(conversation, today)];
    groups.set(day, [...(groups.get(day) ?? []), conversation]);
  }
  return [...groups];
}

function dayOf({ isPinned, updatedAt }: Conversation, today: number): keyof Words["days"] {
  if (isPinned) return "pinned";
  if (updatedAt >= today) return "today";
  if (updatedAt >= today - DAY_MS) return "yesterday";
  return updatedAt >= today - 7 * DAY_MS ? "lastDays" : "older";
}
