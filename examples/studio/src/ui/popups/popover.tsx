import { Popover as Base } from "@base-ui/react/popover";
import type { LoadedProps, PopoverProps } from "../popups.js";

/** A small box of controls beside a button. */
export function Popover({
  title,
  trigger,
  align = "start",
  startsOpen,
  children,
}: PopoverProps & LoadedProps) {
  return (
    <Base.Root defaultOpen={startsOpen}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} align={align} className="z-50">
          <Base.Popup className="popup flex max-h-(--available-height) w-72 max-w-(--available-width) flex-col gap-4 overflow-y-auto p-4 outline-none">
            <Base.Title className="sr-only">{title}</Base.Title>
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
