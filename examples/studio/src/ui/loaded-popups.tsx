import { CSPProvider } from "@base-ui/react/csp-provider";
import { Popover as BasePopover } from "@base-ui/react/popover";
import { Select as BaseSelect } from "@base-ui/react/select";
import clsx from "clsx";
import { Check, ChevronDown } from "lucide-react";
import { Dialog, Menu } from "../../../registry/components/sluice/popups.js";
import {
  type LoadedProps,
  type PopoverProps,
  type SelectProps,
  type SheetProps,
  selectButton,
} from "./popups.js";

export { Dialog, Menu };

/** A small box of controls beside a button. */
export function Popover({
  title,
  trigger,
  align = "start",
  defaultOpen,
  children,
}: PopoverProps & LoadedProps) {
  return (
    <BasePopover.Root defaultOpen={defaultOpen}>
      <BasePopover.Trigger render={trigger} />
      <BasePopover.Portal>
        <BasePopover.Positioner sideOffset={6} align={align} className="z-50">
          <BasePopover.Popup className="popup flex max-h-(--available-height) w-72 max-w-(--available-width) flex-col gap-4 overflow-y-auto p-4 outline-none">
            <BasePopover.Title className="sr-only">{title}</BasePopover.Title>
            {children}
          </BasePopover.Popup>
        </BasePopover.Positioner>
      </BasePopover.Portal>
    </BasePopover.Root>
  );
}

/** One of several values, chosen from a list. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange, disabled = false, className } = props;
  return (
    // the list would bring a style element, which the policy of the page refuses
    <CSPProvider disableStyleElements>
      <BaseSelect.Root
        items={options}
        value={value}
        onValueChange={(chosen) => chosen !== null && onChange(chosen)}
        disabled={disabled}
        modal={false}
      >
        <BaseSelect.Trigger aria-label={label} className={clsx(selectButton, className)}>
          <span className="truncate">
            <BaseSelect.Value />
          </span>
          <BaseSelect.Icon className="text-muted">
            <ChevronDown className="size-4" aria-hidden />
          </BaseSelect.Icon>
        </BaseSelect.Trigger>
        <BaseSelect.Portal role="region" aria-label="List">
          <BaseSelect.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
            <BaseSelect.Popup className="popup max-h-(--available-height) min-w-(--anchor-width) overflow-y-auto p-1">
              {options.map((option) => (
                <BaseSelect.Item
                  key={option.value}
                  value={option.value}
                  className="control flex items-center gap-2 rounded-lg px-2 py-1 text-sm outline-none data-highlighted:bg-hover"
                >
                  {option.icon}
                  <span className="grow">
                    <BaseSelect.ItemText>{option.label}</BaseSelect.ItemText>
                    {option.note && <span className="block text-xs text-muted">{option.note}</span>}
                  </span>
                  <BaseSelect.ItemIndicator>
                    <Check className="size-4 text-accent" aria-hidden />
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

/** A panel that slides in over the page, where a screen is too small to have it beside. */
export function Sheet(props: SheetProps & LoadedProps) {
  return <Dialog {...props} className="bg-surface!" />;
}
