import type { Client } from "@sluice/core";
import { type KeyboardEvent, useState, useSyncExternalStore } from "react";
import { CallsView, type CallsViewProps } from "./calls-view.js";
import { FaultsView } from "./faults-view.js";
import { getRecording } from "./recording.js";
import { StoresView } from "./stores-view.js";
import { TasksView } from "./tasks-view.js";
import { UsageView } from "./usage-view.js";

const tabs = ["Calls", "Faults", "Chats", "Tasks", "Usage"] as const;
type Tab = (typeof tabs)[number];

interface PanelProps extends Pick<CallsViewProps, "client" | "prices" | "onShowMessage" | "messageId"> {
  /** Absent if something else closes the panel. */
  readonly onClose?: () => void;
}

/** The view that each client showed last. The panel is unmounted while it is closed. */
const lastTabs = new WeakMap<Client, Tab>();

/** The panel. It is loaded when it is opened. */
export function Panel({ onClose, ...props }: PanelProps) {
  const { client, messageId } = props;
  const [tab, setTab] = useState((messageId ? undefined : lastTabs.get(client)) ?? "Calls");
  const select = (next: Tab) => {
    lastTabs.set(client, next);
    setTab(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !onClose) return;
    event.stopPropagation();
    onClose();
  };
  return (
    <section className="panel" aria-label="Sluice Devtools" onKeyDown={onKeyDown}>
      <header>
        <Tabs selected={tab} onSelect={select} />
        {onClose && (
          <button type="button" onClick={onClose}>
            Close
          </button>
        )}
      </header>
      <div className="view" role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
        <View tab={tab} {...props} />
      </div>
    </section>
  );
}

function Tabs({ selected, onSelect }: { readonly selected: Tab; readonly onSelect: (tab: Tab) => void }) {
  const onKeyDown = ({ key, currentTarget }: KeyboardEvent) => {
    const index = tabs.indexOf(selected);
    const targets = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 };
    const target = targets[key as keyof typeof targets];
    if (target === undefined) return;
    const next = (target + tabs.length) % tabs.length;
    onSelect(tabs[next] ?? selected);
    (currentTarget.children[next] as HTMLElement).focus();
  };
  return (
    <div role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === selected}
          aria-controls="view"
          tabIndex={tab === selected ? 0 : -1}
          onClick={() => onSelect(tab)}
        >
          {tab}
        </button>
      ))}
    </div>
  );
}

function View({ tab, ...props }: Omit<PanelProps, "onClose"> & { readonly tab: Tab }) {
  const { client } = props;
  const recording = getRecording(client);
  const recorded = useSyncExternalStore(recording.subscribe, recording.getSnapshot);
  switch (tab) {
    case "Calls":
      return <CallsView {...props} recorded={recorded} onClear={recording.clear} />;
    case "Faults":
      return <FaultsView client={client} recorded={recorded} />;
    case "Chats":
      return <StoresView client={client} recorded={recorded} />;
    case "Tasks":
      return <TasksView recorded={recorded} />;
    case "Usage":
      return <UsageView recorded={recorded} />;
  }
}
