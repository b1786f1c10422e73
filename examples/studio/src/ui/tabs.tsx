import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

interface TabsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly tabs: readonly { readonly value: Value; readonly label: ReactNode; readonly content: ReactNode }[];
}

/** Several views of one thing, one at a time. */
export function Tabs<Value extends string>({ label, value, onChange, tabs }: TabsProps<Value>) {
  return (
    <Base.Root
      value={value}
      onValueChange={(chosen) => onChange(chosen as Value)}
      className="flex min-h-0 grow flex-col"
    >
      <Base.List aria-label={label} className="relative flex shrink-0 gap-1 border-b px-2">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="control px-2 text-sm text-muted -outline-offset-2 hover:text-ink data-active:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
        <Base.Indicator className="absolute bottom-0 left-(--active-tab-left) h-0.5 w-(--active-tab-width) bg-accent transition-all" />
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel
          key={tab.value}
          value={tab.value}
          className="flex min-h-0 grow flex-col overflow-y-auto -outline-offset-2"
        >
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
