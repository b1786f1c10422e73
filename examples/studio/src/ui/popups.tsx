import clsx from "clsx";
import { ChevronDown } from "lucide-react";
import { atom } from "nanostores";
import { type ComponentType, cloneElement, type ReactNode, useState } from "react";
import type {
  DialogProps,
  MenuItem,
  MenuProps,
  Trigger,
} from "../../../registry/components/sluice/popups.js";
import { Button } from "./button.js";
import { later } from "./later.js";

/*
 * Everything that opens above the page. The library behind it is half as large as React, so it is loaded when the
 * pointer or the focus comes near. Until its first press the trigger stands there alone.
 */

export type { MenuItem, Trigger };

/** A popup that is loaded. */
export interface LoadedProps {
  /** True where the press on its trigger is the reason that it is there. */
  readonly defaultOpen: boolean;
}

/** Makes a popup that is loaded with the first press on its trigger, or when it is opened from elsewhere. */
function popup<Props extends { readonly trigger?: Trigger; readonly isOpen?: boolean }>(
  kind: "menu" | "dialog",
  load: () => Promise<ComponentType<Props & LoadedProps>>,
) {
  const Part = later(load);
  const preload = () => void Part.preload();
  function Popup(props: Props) {
    const { trigger, isOpen = false } = props;
    const [isPressed, setPressed] = useState(false);
    const standIn =
      trigger &&
      cloneElement(trigger, {
        "aria-haspopup": kind,
        "aria-expanded": false,
        onClick: () => setPressed(true),
        onPointerEnter: preload,
        onFocus: preload,
      });
    return <Part {...props} defaultOpen={isPressed} isNeeded={isPressed || isOpen} fallback={standIn} />;
  }
  return Object.assign(Popup, { preload });
}

/** A list of actions behind a button. */
export const Menu = popup<MenuProps>("menu", async () => (await import("./loaded-popups.js")).Menu);

export interface PopoverProps {
  /** Name of the box, for screen readers. */
  readonly title: string;
  /** The button that opens it. */
  readonly trigger: Trigger;
  readonly align?: "start" | "center" | "end";
  readonly children: ReactNode;
}

/** A small box of controls beside a button. */
export const Popover = popup<PopoverProps>(
  "dialog",
  async () => (await import("./loaded-popups.js")).Popover,
);

/** A box above the page that has to be closed first. */
export const Dialog = popup<DialogProps>("dialog", async () => (await import("./loaded-popups.js")).Dialog);

export interface SheetProps extends DialogProps {
  /** The edge that it slides in from. */
  readonly side: "left" | "right";
}

/** A panel that slides in over the page, where the screen has no room for it beside. */
export const Sheet = popup<SheetProps>("dialog", async () => (await import("./loaded-popups.js")).Sheet);

/** One choice of a select. */
interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** A second line below the label in the list. */
  readonly note?: ReactNode;
  readonly icon?: ReactNode;
}

export interface SelectProps<Value extends string> {
  /** Name of the select, for screen readers. A `Field` around it gives one, too. */
  readonly label?: string;
  readonly value: Value;
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
  readonly disabled?: boolean;
  readonly className?: string;
}

export const selectButton =
  "control inline-flex items-center justify-between gap-2 rounded-lg border border-edge/50 bg-raised px-3 text-left text-sm hover:bg-hover data-disabled:opacity-50";

const LoadedSelect = later<SelectProps<string>>(async () => (await import("./loaded-popups.js")).Select);

/** One of several values, chosen from a list. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange, className } = props;
  const chosen = options.find((option) => option.value === value)?.label ?? "";
  return (
    <LoadedSelect
      {...props}
      // `later` forgets the type parameter
      onChange={(next) => {
        const option = options.find((one) => one.value === next);
        if (option) onChange(option.value);
      }}
      fallback={
        <Button
          aria-label={label && `${label}: ${chosen}`}
          className={clsx(selectButton, className)}
          disabled
        >
          {chosen}
          <ChevronDown aria-hidden />
        </Button>
      }
    />
  );
}

/** Options of a toast. */
export interface ToastOptions {
  /** Called by a press on "Undo". */
  readonly onUndo?: () => void;
  /** Milliseconds until it goes. @default 6000, and 10000 with "Undo" */
  readonly timeout?: number;
}

/** True from the first toast on: its place has to be there. */
export const hasToasts = atom(false);

/** Shows a short message at the bottom of the page, with "Undo" where there is a way back. */
export function toast(title: string, options: ToastOptions = {}): void {
  hasToasts.set(true);
  import("./toasts.js").then(
    ({ showToast }) => showToast(title, options),
    () => {
      // offline: what it would say is done all the same
    },
  );
}
