"use client";

import { CSPProvider } from "@base-ui/react/csp-provider";
import { Select as BaseSelect } from "@base-ui/react/select";
import { Check, ChevronDown } from "lucide-react";
import type { ReactNode } from "react";
import { popupWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

/** One choice of a select. */
interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** A second line below the label in the list. */
  readonly note?: ReactNode;
}

interface SelectProps<Value extends string> {
  /** Name of the select, for screen readers. Leave it out inside a `Field`. */
  readonly label?: string;
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
}

/** One of several values, chosen from a list. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange } = props;
  return (
    // a strict content policy of the page refuses the style element of the list
    <CSPProvider disableStyleElements>
      <BaseSelect.Root
        items={options}
        value={value}
        onValueChange={(chosen) => chosen !== null && onChange(chosen)}
        modal={false}
      >
        <BaseSelect.Trigger
          aria-label={label}
          className={cn(
            "inline-flex min-h-8 cursor-pointer items-center justify-between gap-2 rounded-lg border border-input bg-card px-3 text-start text-sm",
            "hover:bg-secondary data-disabled:opacity-50 pointer-coarse:min-h-11 pointer-coarse:min-w-11",
          )}
        >
          <span className="truncate">
            <BaseSelect.Value />
          </span>
          <BaseSelect.Icon className="text-muted-foreground">
            <ChevronDown className="size-4" aria-hidden />
          </BaseSelect.Icon>
        </BaseSelect.Trigger>
        <BaseSelect.Portal role="region" aria-label={popupWords.list}>
          <BaseSelect.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
            <BaseSelect.Popup className="max-h-(--available-height) min-w-(--anchor-width) origin-(--transform-origin) overflow-y-auto rounded-xl border bg-popover p-1 text-popover-foreground shadow-lg transition-[opacity,scale] data-ending-style:scale-97 data-ending-style:opacity-0 data-starting-style:scale-97 data-starting-style:opacity-0">
              {options.map((option) => (
                <BaseSelect.Item
                  key={option.value}
                  value={option.value}
                  className="flex min-h-8 items-center gap-2 rounded-lg px-2 py-1 text-sm outline-none data-highlighted:bg-secondary pointer-coarse:min-h-11"
                >
                  <span className="grow">
                    <BaseSelect.ItemText>{option.label}</BaseSelect.ItemText>
                    {option.note && (
                      <span className="block text-xs text-muted-foreground">{option.note}</span>
                    )}
                  </span>
                  <BaseSelect.ItemIndicator>
                    <Check className="size-4 text-primary" aria-hidden />
                  </BaseSelect.ItemIndicator>
                </BaseSelect.Item>
              ))}
            </BaseSelect.Popup>
          </BaseSelect.Positioner>
        </BaseSelect.Portal>
      </BaseSelect.Root>
    </CSPProvider>
  );
}
