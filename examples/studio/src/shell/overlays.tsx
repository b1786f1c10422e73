import type { ConversationMatch } from "@sluice/react";
import { Command } from "cmdk";
import { MessageSquare } from "lucide-react";
import { type ComponentProps, useState } from "react";
import readme from "../../../../README.md?raw";
import { openRoute } from "../rooms.js";
import { later } from "../ui/later.js";
import { Dialog } from "../ui/popups.js";
import { type Action, useActions } from "./actions.js";
import { closeOverlay, keysOf } from "./commands.js";
import { useChatSearch } from "./use-chat-search.js";

const Markdown = later(async () => (await import("../chat/diagram.js")).Markdown);

interface PaletteProps {
  /** Text of the search. It is kept outside: one can write before this is loaded. */
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly title: string;
  /** Other props of the field. */
  readonly field: Omit<ComponentProps<typeof Command.Input>, "value">;
}

/** Search over chats, and every command of the shell. */
export function Palette({ text, onText, title, field }: PaletteProps) {
  const { matches, isSearching } = useChatSearch(text);
  const words = text.toLowerCase().split(/\s+/);
  const found = useActions(text).map(({ heading, actions }) => ({
    heading,
    actions: actions.filter(
      ({ label, isForText }) =>
        isForText || words.every((word) => `${heading} ${label}`.toLowerCase().includes(word)),
    ),
  }));
  // results come later than letters: the first row takes the place of a chosen one that is gone
  const [chosen, setChosen] = useState("");
  const rows = [...matches.map(idOf), ...found.flatMap(({ actions }) => actions.map(({ label }) => label))];
  const selected = rows.includes(chosen) ? chosen : (rows[0] ?? "");
  return (
    <Dialog title={title} isPlain isOpen onOpenChange={closeOverlay}>
      <Command
        label={title}
        shouldFilter={false}
        value={selected}
        onValueChange={setChosen}
        className="flex min-h-0 flex-col"
      >
        <Command.Input autoFocus value={text} onValueChange={onText} {...field} />
        <Command.List className="max-h-[60vh] overflow-y-auto p-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted">
          {!isSearching && (
            <Command.Empty className="p-4 text-center text-sm text-muted">Nothing found</Command.Empty>
          )}
          {matches.length > 0 && (
            <Command.Group heading="Chats">
              {matches.map((match) => (
                <Row
                  key={idOf(match)}
                  id={idOf(match)}
                  label={match.conversation.title || "New chat"}
                  note={match.excerpt && plainOf(match.excerpt)}
                  icon={<MessageSquare />}
                  run={() => openRoute({ room: "chat", id: match.conversation.id })}
                />
              ))}
            </Command.Group>
          )}
          {found.map(
            ({ heading, actions }) =>
              actions.length > 0 && (
                <Command.Group key={heading} heading={heading}>
                  {actions.map((action) => (
                    <Row key={action.label} {...action} />
                  ))}
                </Command.Group>
              ),
          )}
        </Command.List>
      </Command>
    </Dialog>
  );
}

function idOf({ conversation, messageId = "title" }: ConversationMatch): string {
  return `${conversation.id} ${messageId}`;
}

/** Part of an answer without the signs of Markdown. */
function plainOf(excerpt: string): string {
  return excerpt
    .replace(/^…\S+\s/, "…")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(?<=^|[\s…])(?:#{1,6}|>|[-*+](?: \[[ x]\])?|\|?(?:\s*:?-{2,}:?\s*\|)+)(?=\s)/g, "")
    .replace(/```\w*|\*\*|~~|\$\$|[`|]|(?<![\p{L}\p{N}])[*_]|[*_](?![\p{L}\p{N}])/gu, "")
    .replace(/\s+/g, " ")
    .trim();
}

interface RowProps extends Action {
  /** Identity of the row. @default its label */
  readonly id?: string;
  readonly note?: string | undefined;
}

function Row({ label, id = label, note, icon, keys, run }: RowProps) {
  const onSelect = () => {
    closeOverlay();
    run();
  };
  return (
    <Command.Item
      value={id}
      onSelect={onSelect}
      className="control flex items-center gap-3 rounded-lg px-2 text-sm data-[selected=true]:bg-hover [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted"
    >
      {icon}
      <span className="min-w-0 grow">
        {label}
        {note && <span className="block truncate text-xs text-muted">{note}</span>}
      </span>
      {keys && <kbd className="font-sans text-xs text-muted pointer-coarse:hidden">{keys}</kbd>}
    </Command.Item>
  );
}

const shortcuts: readonly (readonly [keys: string, action: string])[] = [
  [keysOf("k"), "Search and commands"],
  [keysOf("o", true), "New chat"],
  [keysOf("b"), "Sidebar"],
  [keysOf("."), "Inspector"],
  ["Enter", "Send"],
  ["Shift+Enter", "New line"],
  ["↑", "Edit the last question"],
  ["Esc", "Stop the answer"],
  ["?", "This list"],
];

/** The list of keys. */
export function Shortcuts() {
  return (
    <Dialog title="Shortcuts" isOpen onOpenChange={closeOverlay}>
      <dl className="grid grid-cols-[1fr_auto] gap-y-3 text-sm">
        {shortcuts.map(([keys, action]) => (
          <div key={keys} className="contents">
            <dt>{action}</dt>
            <dd>
              <kbd className="rounded-md border bg-surface px-2 py-1 font-sans text-xs">{keys}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** Pictures and links of the README lead to files of the repository, which this page does not have: a text is left. */
const readmeText = readme
  .replace(/!\[[^\]]*\]\((?!https?:)[^)]*\)/g, "")
  .replace(/\[([^\]]*)\]\((?!https?:)[^)]*\)/g, "$1");

/** The README of the project, which is there without a network, too. */
export function Readme() {
  return (
    <Dialog title="README" isOpen onOpenChange={closeOverlay}>
      <Markdown text={readmeText} isLive={false} />
    </Dialog>
  );
}
