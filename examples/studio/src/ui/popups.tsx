import clsx from "clsx";
import { ChevronDown } from "lucide-react";
import { cloneElement, lazy, type ReactElement, type ReactNode, Suspense, useState } from "react";
import { Button } from "./button.js";

/*
 * Everything that opens above the page. The library behind it is half as large as React, so it loads after the first
 * paint. Until then the trigger stands there alone; a press on it opens the popup once it is there.
 */
const parts = {
  Menu: lazy(async () => ({ default: (await import("./popups/menu.js")).Menu })),
  Popover: lazy(async () => ({ default: (await import("./popups/popover.js")).Popover })),
  Dialog: lazy(async () => ({ default: (await import("./popups/dialog.js")).Dialog })),
  Sheet: lazy(async () => ({ default: (await import("./popups/dialog.js")).Sheet })),
  Select: lazy(async () => ({ default: (await import("./popups/select.js")).Select })),
};

/** The button that opens a popup. */
export type Trigger = ReactElement<{ onClick?: () => void }>;

/** The trigger of a popup that is not there yet, and whether it was pressed meanwhile. */
function useStandIn(trigger: Trigger | undefined) {
  const [isPressed, setPressed] = useState(false);
  return { standIn: trigger && cloneElement(trigger, { onClick: () => setPressed(true) }), isPressed };
}

/** A part that is loaded. */
export interface LoadedProps {
  /** True where its trigger was pressed before it was loaded. */
  readonly startsOpen: boolean;
}

/** One action of a menu. */
export interface MenuItem {
  readonly label: string;
  readonly icon?: ReactNode;
  readonly onSelect: () => void;
  /** An action that takes something away. */
  readonly isDanger?: boolean;
  readonly disabled?: boolean;
}

export interface MenuProps {
  /** The button that opens it; a `Button` or `IconButton`. */
  readonly trigger: Trigger;
  /** The actions; "line" separates groups. */
  readonly items: readonly (MenuItem | "line")[];
  readonly align?: "start" | "center" | "end";
}

/** A list of actions behind a button. */
export function Menu(props: MenuProps) {
  const { standIn, isPressed } = useStandIn(props.trigger);
  return (
    <Suspense fallback={standIn}>
      <parts.Menu {...props} startsOpen={isPressed} />
    </Suspense>
  );
}

export interface PopoverProps {
  /** Name of the box, for screen readers. */
  readonly title: string;
  /** The button that opens it. */
  readonly trigger: Trigger;
  readonly align?: "start" | "center" | "end";
  readonly children: ReactNode;
}

/** A small box of controls beside a button. */
export function Popover(props: PopoverProps) {
  const { standIn, isPressed } = useStandIn(props.trigger);
  return (
    <Suspense fallback={standIn}>
      <parts.Popover {...props} startsOpen={isPressed} />
    </Suspense>
  );
}

export interface DialogProps {
  readonly title: string;
  /** The button that opens it. Leave it out where `isOpen` comes from elsewhere. */
  readonly trigger?: Trigger;
  readonly isOpen?: boolean;
  readonly onOpenChange?: (isOpen: boolean) => void;
  readonly children: ReactNode;
  /** Hides the title from the eye, not from screen readers. */
  readonly isPlain?: boolean;
}

/** A box above the page that has to be closed first. */
export function Dialog(props: DialogProps) {
  const { standIn, isPressed } = useStandIn(props.trigger);
  return (
    <Suspense fallback={standIn}>
      <parts.Dialog {...props} startsOpen={isPressed} />
    </Suspense>
  );
}

export interface SheetProps extends DialogProps {
  /** The edge that it slides in from. */
  readonly side: "left" | "right";
}

/** A panel that slides in over the page, where the screen has no room for it beside. */
export function Sheet(props: SheetProps) {
  const { standIn, isPressed } = useStandIn(props.trigger);
  return (
    <Suspense fallback={standIn}>
      <parts.Sheet {...props} startsOpen={isPressed} />
    </Suspense>
  );
}

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

/** One of several values, chosen from a list. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, className } = props;
  const chosen = options.find((option) => option.value === value)?.label ?? "";
  // `lazy` forgets the type parameter
  const Loaded = parts.Select as unknown as (props: SelectProps<Value>) => ReactNode;
  return (
    <Suspense
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
    >
      <Loaded {...props} />
    </Suspense>
  );
}
