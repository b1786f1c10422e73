"use client";

import type { Conversation } from "@sluice/react";
import { Folder, FolderMinus, FolderOpen, Pencil } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/sluice/button";
import {
  ConversationRow,
  type ConversationVerbs,
  NameForm,
  RowMenu,
} from "@/components/sluice/conversation-row";
import { useListFocus } from "@/components/sluice/use-list-focus";
import { conversationWords } from "@/components/sluice/words";

type Words = typeof conversationWords;

interface FolderVerbs {
  /** Name of the folder that is shown alone: the option `folder` of `useConversations`. */
  readonly folder?: string | undefined;
  /** Shows a folder alone, or all conversations. */
  readonly onFolder?: (folder: string | undefined) => void;
  /** Gives a folder another name: `renameFolder`. An empty one ends it. */
  readonly onRenameFolder?: (folder: string, name: string) => unknown;
}

interface ConversationListProps extends ConversationVerbs, FolderVerbs {
  /** Conversations of `useConversations`, newest first. */
  readonly conversations: readonly Conversation[];
  /** Id of the one that is shown. */
  readonly activeId?: string | undefined;
  /** Names of the folders: `folders` of `useConversations`. @default there are no folders */
  readonly folders?: readonly string[];
}

/** Conversations by folder and by the day of their last question, with what each one does now. */
export function ConversationList(props: ConversationListProps) {
  const { conversations, activeId, folders, folder, onFolder, onRenameFolder, ...verbs } = props;
  const focus = useListFocus<HTMLDivElement>();
  const groups = groupConversations(conversations, folder).map(({ name, day, list }) => (
    <div key={day ?? `folder ${name}`} className="pb-3">
      {day ? (
        <h2 className="px-3 py-1 text-xs font-medium text-muted-foreground">{conversationWords.days[day]}</h2>
      ) : (
        <FolderHeading name={name} isAlone={name === folder} onFolder={onFolder} onRename={onRenameFolder} />
      )}
      <ul>
        {list.map((one) => (
          <ConversationRow
            key={one.id}
            {...verbs}
            conversation={one}
            isOpen={one.id === activeId}
            folders={folders}
          />
        ))}
      </ul>
    </div>
  ));
  return (
    <div {...focus} className="outline-none">
      {groups}
      {folder !== undefined && onFolder && (
        <Button look="quiet" onClick={() => onFolder(undefined)}>
          {conversationWords.showAll}
        </Button>
      )}
    </div>
  );
}

interface FolderHeadingProps {
  readonly name: string;
  /** True where no other folder is shown. */
  readonly isAlone: boolean;
  readonly onFolder: FolderVerbs["onFolder"];
  readonly onRename: FolderVerbs["onRenameFolder"];
}

/** The name of a folder: a press shows it alone, or all again. */
function FolderHeading({ name, isAlone, onFolder, onRename }: FolderHeadingProps) {
  const [isRenaming, setIsRenaming] = useState(false);
  const Icon = isAlone ? FolderOpen : Folder;
  const row = `folder ${name}`;
  if (isRenaming)
    return (
      <div data-row={row}>
        <NameForm
          name={name}
          label={conversationWords.folder}
          onRename={(text) => {
            if (text.trim() === "") return;
            onRename?.(name, text);
            if (isAlone) onFolder?.(text.trim());
          }}
          onClose={() => setIsRenaming(false)}
        />
      </div>
    );
  return (
    <div data-row={row} className="group/row flex items-center">
      <h2 className="min-w-0 grow">
        <Button
          look="quiet"
          aria-pressed={isAlone}
          data-tip={isAlone ? conversationWords.showAll : conversationWords.showFolder}
          className="w-full justify-start text-xs"
          onClick={() => onFolder?.(isAlone ? undefined : name)}
        >
          <Icon aria-hidden />
          <span dir="auto" className="truncate">
            {name}
          </span>
        </Button>
      </h2>
      {onRename && (
        <RowMenu
          label={conversationWords.folderActions(name)}
          items={[
            {
              label: conversationWords.renameFolder,
              icon: <Pencil aria-hidden />,
              onSelect: () => setIsRenaming(true),
            },
            {
              label: conversationWords.endFolder,
              icon: <FolderMinus aria-hidden />,
              onSelect: () => void onRename(name, ""),
            },
          ]}
        />
      )}
    </div>
  );
}

type Day = keyof Words["days"];

interface Group {
  /** Absent from a folder. */
  readonly day?: Day;
  /** Name of a folder, or the day. */
  readonly name: string;
  readonly list: readonly Conversation[];
}

const days: readonly Day[] = ["today", "yesterday", "lastDays", "older"];

/** Groups conversations: pinned ones, then each folder, then the others by the day of their last question. */
function groupConversations(
  conversations: readonly Conversation[],
  alone: string | undefined,
): readonly Group[] {
  const today = new Date().setHours(0, 0, 0, 0);
  // in a folder that is shown alone, the pinned ones are in it, too
  const pinned = conversations.filter(({ isPinned }) => isPinned && alone === undefined);
  const rest = conversations.filter((one) => !pinned.includes(one));
  const folders = [...new Set(rest.map(({ folder }) => folder ?? "").filter(Boolean))];
  const groups: Group[] = [
    { day: "pinned", name: "pinned", list: pinned },
    ...folders
      .sort((a, b) => a.localeCompare(b))
      .map((name) => ({ name, list: rest.filter(({ folder }) => folder === name) })),
    ...days.map((day) => ({
      day,
      name: day,
      list: rest.filter((one) => !one.folder && findDay(one, today) === day),
    })),
  ];
  return groups.filter(({ list }) => list.length > 0);
}

const DAY_MS = 86_400_000;

function findDay({ updatedAt }: Conversation, today: number): Day {
  if (updatedAt >= today) return "today";
  if (updatedAt >= today - DAY_MS) return "yesterday";
  return updatedAt >= today - 7 * DAY_MS ? "lastDays" : "older";
}
