"use client";

import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { Menu as BaseMenu } from "@base-ui/react/menu";
import { Popover as BasePopover } from "@base-ui/react/popover";
import { X } from "lucide-react";
import { type ReactElement, type ReactNode, useRef } from "react";
import { IconButton } from "@/components/sluice/button";
import { popupWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

/** Look of anything that opens above the page. */
const popup =
  "origin-(--transform-origin) rounded-xl border bg-popover text-popover-foreground shadow-lg outline-none transition-[opacity,scale] data-ending-style:scale-97 data-ending-style:opacity-0 data-starting-style:scale-97 data-starting-style:opacity-0";

/** One action of a menu. */
export interface MenuItem {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly onSelect: () => void;
  /** True for an action that deletes something. @default false */
  readonly isDanger?: boolean;
}

interface MenuProps {
  /** The button that opens it; a `Button` or `IconButton`. */
  readonly trigger: ReactElement;
  readonly items: readonly MenuItem[];
  readonly align?: "start" | "center" | "end";
}

/** A list of actions behind a button. */
export function Menu({ trigger, items, align = "start" }: MenuProps) {
  return (
    <BaseMenu.Root modal={false}>
      <BaseMenu.Trigger render={trigger} />
      {/* outside of all landmarks of the page, so it needs its own */}
      <BaseMenu.Portal role="region" aria-label={popupWords.menu}>
        <BaseMenu.Positioner sideOffset={4} align={align} className="z-50">
          <BaseMenu.Popup className={cn(popup, "min-w-44 p-1")}>
            {items.map(({ label, icon, isDanger, onSelect }) => (
              <BaseMenu.Item
                key={label}
                onClick={onSelect}
                className={cn(
                  "flex min-h-8 cursor-default items-center gap-2 rounded-lg px-2 text-sm outline-none data-highlighted:bg-secondary",
                  "pointer-coarse:min-h-11 [&_svg]:size-4 [&_svg]:shrink-0",
                  isDanger && "text-destructive",
                )}
              >
                {icon}
                {label}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

interface PopoverProps extends Pick<MenuProps, "trigger"> {
  /** Name of the box, for screen readers. */
  readonly title: string;
  readonly children: ReactNode;
}

/** A small box of controls beside a button. */
export function Popover({ title, trigger, children }: PopoverProps) {
  return (
    <BasePopover.Root>
      <BasePopover.Trigger render={trigger} />
      <BasePopover.Portal>
        <BasePopover.Positioner sideOffset={6} align="start" className="z-50">
          <BasePopover.Popup
            className={cn(
              popup,
              "flex max-h-(--available-height) w-72 max-w-(--available-width) flex-col gap-4 overflow-y-auto p-4",
            )}
          >
            <BasePopover.Title className="sr-only">{title}</BasePopover.Title>
            {children}
          </BasePopover.Popup>
        </BasePopover.Positioner>
      </BasePopover.Portal>
    </BasePopover.Root>
  );
}

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly children: ReactNode;
  /** Hides the title from the eye, not from screen readers. */
  readonly isPlain?: boolean;
  /** True for a box that slides in from the left edge of the window, over all its height. */
  readonly isDrawer?: boolean;
}

const centered =
  "fixed top-[10vh] left-1/2 z-40 flex max-h-[80vh] w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden";
const drawer =
  "fixed inset-y-0 left-0 z-40 flex w-[min(22.5rem,calc(100vw-3rem))] flex-col bg-popover text-popover-foreground border-e outline-none transition-transform data-ending-style:-translate-x-full data-starting-style:-translate-x-full";

/** A modal dialog or drawer. */
export function Dialog(props: DialogProps) {
  const { title, isOpen, onOpenChange, isPlain = false, isDrawer = false, children } = props;
  const box = useRef<HTMLDivElement>(null);
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => onOpenChange(open)}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="fixed inset-0 z-40 bg-black/50 transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <BaseDialog.Popup
          ref={box}
          // not the button that closes it, whose tooltip would cover the first line
          {...(!isPlain && { initialFocus: box })}
          className={cn(isDrawer ? drawer : [popup, centered])}
        >
          {isPlain ? (
            <BaseDialog.Title className="sr-only">{title}</BaseDialog.Title>
          ) : (
            <div className="flex items-center justify-between gap-2 p-2 ps-4">
              <BaseDialog.Title className="font-medium">{title}</BaseDialog.Title>
              <BaseDialog.Close
                render={
                  <IconButton label={popupWords.close}>
                    <X aria-hidden />
                  </IconButton>
                }
              />
            </div>
          )}
          <div
            className={
              isDrawer
                ? "flex min-h-0 grow flex-col overflow-y-auto"
                : cn("min-h-0 overflow-y-auto", !isPlain && "p-4 pt-1")
            }
          >
            {children}
          </div>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}
