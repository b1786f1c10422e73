import { Menu as Base } from "@base-ui/react/menu";
import clsx from "clsx";
import type { LoadedProps, MenuProps } from "../popups.js";

/** A list of actions behind a button. */
export function Menu({ trigger, items, align = "start", startsOpen }: MenuProps & LoadedProps) {
  return (
    <Base.Root modal={false} defaultOpen={startsOpen}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align={align} className="z-50">
          <Base.Popup className="popup min-w-44 p-1 outline-none">
            {items.map((item) =>
              item === "line" ? (
                <Base.Separator key={`line ${items.indexOf(item)}`} className="my-1 h-px bg-line" />
              ) : (
                <Base.Item
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
                </Base.Item>
              ),
            )}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
