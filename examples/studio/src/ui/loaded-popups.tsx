import { CSPProvider } from "@base-ui/react/csp-provider";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { Menu as BaseMenu } from "@base-ui/react/menu";
import { Popover as BasePopover } from "@base-ui/react/popover";
import { Select as BaseSelect } from "@base-ui/react/select";
import clsx from "clsx";
import { Check, ChevronDown, X } from "lucide-react";
import { useRef } from "react";
import { IconButton } from "./button.js";
import {
  type DialogProps,
  type LoadedProps,
  type MenuProps,
  type PopoverProps,
  type SelectProps,
  type SheetProps,
  selectButton,
} from "./popups.js";

/** A list of actions behind a button. */
export function Menu({ trigger, items, align = "start", startsOpen }: MenuProps & LoadedProps) {
  return (
    <BaseMenu.Root modal={false} defaultOpen={startsOpen}>
      <BaseMenu.Trigger render={trigger} />
      {/* it stands outside all parts of the page, and so is a part of its own */}
      <BaseMenu.Portal role="region" aria-label="Menu">
        <BaseMenu.Positioner sideOffset={4} align={align} className="z-50">
          <BaseMenu.Popup className="popup min-w-44 p-1 outline-none">
            {items.map((item) =>
              item === "line" ? (
                <BaseMenu.Separator key={`line ${items.indexOf(item)}`} className="my-1 h-px bg-line" />
              ) : (
                <BaseMenu.Item
                  key={item.label}
                  disabled={item.disabled ?? false}
                  onClick={item.onSelect}
                  className={clsx(
                    "control flex items-center gap-2 rounded-lg px-2 text-sm outline-none data-highlighted:bg-hover",
                    "data-disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
                    item.isDanger && "text-danger",
                  )}
                >
                  {item.icon}
                  {item.label}
                </BaseMenu.Item>
              ),
            )}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

/** A small box of controls beside a button. */
export function Popover({
  title,
  trigger,
  align = "start",
  startsOpen,
  children,
}: PopoverProps & LoadedProps) {
  return (
    <BasePopover.Root defaultOpen={startsOpen}>
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

const backdrop =
  "fixed inset-0 z-40 bg-black/50 transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0";

/** A box above the page that has to be closed first. */
export function Dialog({ title, trigger, isPlain = false, children, ...rest }: DialogProps & LoadedProps) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <Root {...rest}>
      {trigger && <BaseDialog.Trigger render={trigger} />}
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={backdrop} />
        <BaseDialog.Popup
          ref={box}
          // not the button that closes it, whose tooltip would cover the first line
          {...(!isPlain && { initialFocus: box })}
          className="popup fixed top-[10vh] left-1/2 z-40 flex max-h-[80vh] w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden outline-none"
        >
          <Heading title={title} isHidden={isPlain} />
          <div className={clsx("min-h-0 overflow-y-auto", !isPlain && "p-4 pt-1")}>{children}</div>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </Root>
  );
}

const sides = {
  left: "left-0 border-r data-ending-style:-translate-x-full data-starting-style:-translate-x-full",
  right: "right-0 border-l data-ending-style:translate-x-full data-starting-style:translate-x-full",
};

/** A panel that slides in over the page, where a screen is too small to have it beside. */
export function Sheet({
  title,
  trigger,
  side,
  isPlain = false,
  children,
  ...rest
}: SheetProps & LoadedProps) {
  return (
    <Root {...rest}>
      {trigger && <BaseDialog.Trigger render={trigger} />}
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={backdrop} />
        <BaseDialog.Popup
          className={clsx(
            "fixed inset-y-0 z-40 flex w-[min(22.5rem,calc(100vw-3rem))] flex-col bg-surface outline-none transition-transform",
            sides[side],
          )}
        >
          <Heading title={title} isHidden={isPlain} />
          <div className="flex min-h-0 grow flex-col overflow-y-auto">{children}</div>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </Root>
  );
}

function Root({
  isOpen,
  onOpenChange,
  startsOpen,
  children,
}: Pick<DialogProps, "isOpen" | "onOpenChange" | "children"> & LoadedProps) {
  return (
    <BaseDialog.Root
      defaultOpen={startsOpen}
      {...(isOpen !== undefined && { open: isOpen })}
      {...(onOpenChange && { onOpenChange: (open: boolean) => onOpenChange(open) })}
    >
      {children}
    </BaseDialog.Root>
  );
}

function Heading({ title, isHidden }: { readonly title: string; readonly isHidden: boolean }) {
  if (isHidden) return <BaseDialog.Title className="sr-only">{title}</BaseDialog.Title>;
  return (
    <div className="flex items-center justify-between gap-2 p-2 pl-4">
      <BaseDialog.Title className="font-medium">{title}</BaseDialog.Title>
      <BaseDialog.Close
        render={
          <IconButton label="Close">
            <X aria-hidden />
          </IconButton>
        }
      />
    </div>
  );
}
