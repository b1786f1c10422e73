import { CSPProvider } from "@base-ui/react/csp-provider";
import { Select as Base } from "@base-ui/react/select";
import clsx from "clsx";
import { Check, ChevronDown } from "lucide-react";
import { type SelectProps, selectButton } from "../popups.js";

/** One of several values, chosen from a list. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange, disabled = false, className } = props;
  return (
    // the list would bring a style element, which the policy of the page refuses
    <CSPProvider disableStyleElements>
      <Base.Root
        items={options}
        value={value}
        onValueChange={(chosen) => chosen !== null && onChange(chosen)}
        disabled={disabled}
        modal={false}
      >
        <Base.Trigger aria-label={label} className={clsx(selectButton, className)}>
          <span className="truncate">
            <Base.Value />
          </span>
          <Base.Icon className="text-muted">
            <ChevronDown className="size-4" aria-hidden />
          </Base.Icon>
        </Base.Trigger>
        <Base.Portal>
          <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
            <Base.Popup className="popup max-h-(--available-height) min-w-(--anchor-width) overflow-y-auto p-1">
              {options.map((option) => (
                <Base.Item
                  key={option.value}
                  value={option.value}
                  className="control flex items-center gap-2 rounded-lg px-2 py-1 text-sm outline-none data-highlighted:bg-hover"
                >
                  {option.icon}
                  <span className="grow">
                    <Base.ItemText>{option.label}</Base.ItemText>
                    {option.note && <span className="block text-xs text-muted">{option.note}</span>}
                  </span>
                  <Base.ItemIndicator>
                    <Check className="size-4 text-accent" aria-hidden />
                  </Base.ItemIndicator>
                </Base.Item>
              ))}
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
    </CSPProvider>
  );
}
