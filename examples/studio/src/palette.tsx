import { useConversations } from "@sluice/react";
import { Command } from "cmdk";
import { Moon, PanelRight, Plus, ReceiptText } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Dialog } from "@/components/sluice/popups";
import { storage } from "./client.js";
import { formatRoute, rooms } from "./rooms.js";
import { chooseNextTheme, isPaletteOpen, showTab, toggleInspector } from "./state.js";

const close = () => isPaletteOpen.set(false);

function go(hash: string): void {
  location.hash = hash;
}

/** Search over rooms, chats and commands. */
export function Palette() {
  const { conversations } = useConversations({ storage, pageSize: Number.POSITIVE_INFINITY });
  useFocusAfterwards();
  return (
    <Dialog title="Search and commands" isPlain isOpen onOpenChange={close}>
      <Command label="Search and commands" className="flex min-h-0 flex-col">
        <Command.Input
          autoFocus
          placeholder="Search or run a command"
          className="h-12 shrink-0 border-b bg-transparent px-4 outline-none"
        />
        <Command.List className="max-h-[60vh] overflow-y-auto p-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted-foreground">
          <Command.Empty className="p-4 text-center text-sm text-muted-foreground">
            Nothing found
          </Command.Empty>
          <Command.Group heading="Go to">
            {rooms.map(({ name, label, Icon }) => (
              <Row key={name} label={label} icon={<Icon />} run={() => go(formatRoute(name))} />
            ))}
            <Row label="New chat" icon={<Plus />} run={() => go(formatRoute("chat"))} />
          </Command.Group>
          <Command.Group heading="View">
            <Row label="Inspector" icon={<PanelRight />} run={toggleInspector} />
            <Row label="Code of this room" icon={<PanelRight />} run={() => showTab("Code")} />
            <Row label="Calls and faults" icon={<PanelRight />} run={() => showTab("Calls")} />
            <Row label="Receipts" icon={<ReceiptText />} run={() => showTab("Receipts")} />
            <Row label="Next theme" icon={<Moon />} run={chooseNextTheme} />
          </Command.Group>
          {conversations.length > 0 && (
            <Command.Group heading="Chats">
              {conversations.map(({ id, title }) => (
                <Row key={id} id={id} label={title || "New chat"} run={() => go(formatRoute("chat", id))} />
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </Dialog>
  );
}

/** Gives the focus back. The field of the chat may be another element by then. */
function useFocusAfterwards(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (document.activeElement !== document.body || !(before instanceof HTMLElement)) return;
      if (before.isConnected) before.focus();
      else document.querySelector<HTMLElement>("main textarea")?.focus();
    },
    [before],
  );
}

interface RowProps {
  /** Identity of the row. @default its label */
  readonly id?: string;
  readonly label: string;
  readonly icon?: ReactNode;
  readonly run: () => void;
}

function Row({ label, id = label, icon, run }: RowProps) {
  return (
    <Command.Item
      value={id}
      keywords={[label]}
      onSelect={() => {
        close();
        run();
      }}
      className="control flex items-center gap-3 rounded-lg px-2 text-sm data-[selected=true]:bg-secondary [&_svg]:size-4 [&_svg]:shrink-0"
    >
      {icon}
      <bdi className="truncate">{label}</bdi>
    </Command.Item>
  );
}
