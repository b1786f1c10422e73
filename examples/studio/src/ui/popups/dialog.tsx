import { Dialog as Base } from "@base-ui/react/dialog";
import clsx from "clsx";
import { X } from "lucide-react";
import { useRef } from "react";
import { IconButton } from "../button.js";
import type { DialogProps, LoadedProps, SheetProps } from "../popups.js";

const backdrop =
  "fixed inset-0 z-40 bg-black/50 transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0";

/** A box above the page that has to be closed first. */
export function Dialog({ title, trigger, isPlain = false, children, ...rest }: DialogProps & LoadedProps) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <Root {...rest}>
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Backdrop className={backdrop} />
        <Base.Popup
          ref={box}
          // not the button that closes it, whose tooltip would cover the first line
          {...(!isPlain && { initialFocus: box })}
          className="popup fixed top-[10vh] left-1/2 z-40 flex max-h-[80vh] w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden outline-none"
        >
          <Heading title={title} isHidden={isPlain} />
          <div className={clsx("min-h-0 overflow-y-auto", !isPlain && "p-4 pt-1")}>{children}</div>
        </Base.Popup>
      </Base.Portal>
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
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Backdrop className={backdrop} />
        <Base.Popup
          className={clsx(
            "fixed inset-y-0 z-40 flex w-[min(22.5rem,calc(100vw-3rem))] flex-col bg-surface outline-none transition-transform",
            sides[side],
          )}
        >
          <Heading title={title} isHidden={isPlain} />
          <div className="flex min-h-0 grow flex-col overflow-y-auto">{children}</div>
        </Base.Popup>
      </Base.Portal>
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
    <Base.Root
      defaultOpen={startsOpen}
      {...(isOpen !== undefined && { open: isOpen })}
      {...(onOpenChange && { onOpenChange: (open: boolean) => onOpenChange(open) })}
    >
      {children}
    </Base.Root>
  );
}

function Heading({ title, isHidden }: { readonly title: string; readonly isHidden: boolean }) {
  if (isHidden) return <Base.Title className="sr-only">{title}</Base.Title>;
  return (
    <div className="flex items-center justify-between gap-2 p-2 pl-4">
      <Base.Title className="font-medium">{title}</Base.Title>
      <Base.Close
        render={
          <IconButton label="Close">
            <X aria-hidden />
          </IconButton>
        }
      />
    </div>
  );
}
