"use client";

import type { Conversation, UseConversationsResult } from "@sluice/react";
import { Ellipsis, Folder, FolderMinus, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { IconButton } from "@/components/sluice/button";
import { Menu, type MenuItem } from "@/components/sluice/popups";
import { conversationWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

type Actions = readonly (MenuItem | "line")[];

/** Verbs of a conversation in a list. */
export interface ConversationVerbs {
  /** Address of a conversation. @default it is opened by `onOpen` alone */
  readonly createHref?: (id: string) => string;
  readonly onOpen?: (id: string) => void;
  /** Gives it another title, pins it, or puts it in a folder: `update` of `useConversations`. */
  readonly onUpdate: UseConversationsResult["update"];
  /** Deletes it: `remove`, which `restore` takes back. */
  readonly onRemove: (conversation: Conversation) => unknown;
  /** More actions of a conversation. */
  readonly listActions?: (conversation: Conversation) => readonly MenuItem[];
}

interface RowProps extends ConversationVerbs {
  readonly conversation: Conversation;
  readonly isOpen: boolean;
  /** Names of folders that it may be moved to; undefined where there are no folders. */
  readonly folders: readonly string[] | undefined;
}

/** A conversation in a list: opens it, and has a menu of what can be done with it. */
export function ConversationRow({ conversation, isOpen, createHref, onOpen, folders, ...props }: RowProps) {
  const { id, title, status, folder = "" } = conversation;
  const [edited, setEdited] = useState<"title" | "folder">();
  const state = conversationWords.states[status];
  const name = title || conversationWords.untitled;
  if (edited)
    return (
      <li data-row={id}>
        <NameForm
          name={edited === "title" ? title : folder}
          label={conversationWords[edited]}
          suggestions={edited === "folder" ? folders : undefined}
          onRename={(text) => props.onUpdate(id, edited === "title" ? { title: text } : { folder: text })}
          onClose={() => setEdited(undefined)}
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
      <RowMenu
        label={conversationWords.actions(name)}
        items={createItems(conversation, { ...props, folders, onEdit: setEdited })}
      />
    </li>
  );
}

/** The menu of a row, whose button shows where the row has the pointer or the focus. */
export function RowMenu({ label, items }: { readonly label: string; readonly items: Actions }) {
  const button = (
    <IconButton
      label={label}
      className="opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 aria-expanded:opacity-100 pointer-coarse:opacity-100"
    >
      <Ellipsis aria-hidden />
    </IconButton>
  );
  return <Menu align="end" trigger={button} items={items} />;
}

interface Choices extends Pick<RowProps, "onUpdate" | "folders" | "onRemove" | "listActions"> {
  readonly onEdit: (field: "title" | "folder") => void;
}

function createItems(
  conversation: Conversation,
  { onUpdate, folders, onRemove, onEdit, listActions = () => [] }: Choices,
): Actions {
  const { id, isPinned, folder } = conversation;
  const own = listActions(conversation);
  return [
    { label: conversationWords.rename, icon: <Pencil aria-hidden />, onSelect: () => onEdit("title") },
    isPinned
      ? {
          label: conversationWords.unpin,
          icon: <PinOff aria-hidden />,
          onSelect: () => onUpdate(id, { isPinned: false }),
        }
      : {
          label: conversationWords.pin,
          icon: <Pin aria-hidden />,
          onSelect: () => onUpdate(id, { isPinned: true }),
        },
    ...(folders
      ? [{ label: conversationWords.move, icon: <Folder aria-hidden />, onSelect: () => onEdit("folder") }]
      : []),
    ...(folders && folder !== undefined
      ? [
          {
            label: conversationWords.takeOut(folder),
            icon: <FolderMinus aria-hidden />,
            onSelect: () => onUpdate(id, { folder: "" }),
          },
        ]
      : []),
    ...(own.length > 0 ? (["line", ...own] as const) : []),
    "line",
    {
      label: conversationWords.remove,
      icon: <Trash2 aria-hidden />,
      onSelect: () => void onRemove(conversation),
      isDanger: true,
    },
  ];
}

interface NameFormProps {
  readonly name: string;
  /** Name of the field, for screen readers. */
  readonly label: string;
  /** Names to choose from. @default none */
  readonly suggestions?: readonly string[] | undefined;
  readonly onRename: (name: string) => void;
  readonly onClose: () => void;
}

/** The field for a name, in the place of what has it. Escape leaves it as it is. */
export function NameForm({ name, label, suggestions = [], onRename, onClose }: NameFormProps) {
  const listId = useId();
  const [text, setText] = useState(name);
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
        {...(suggestions.length > 0 && { list: listId })}
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
      {suggestions.length > 0 && (
        <datalist id={listId}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </form>
  );
}
