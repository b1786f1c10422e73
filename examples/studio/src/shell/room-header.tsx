import { PanelLeft, PanelRight } from "lucide-react";
import { lazy, type ReactNode, Suspense } from "react";
import { IconButton } from "../ui/button.js";
import { useValue } from "../value.js";
import { keysOf } from "./keys.js";
import { inspectorIsOpen, railIsOpen, toggleInspector, toggleRail, useWideForRail } from "./panels.js";
import { isSettled } from "./rooms.js";

const Tray = lazy(async () => ({ default: (await import("./tray.js")).Tray }));

interface RoomHeaderProps {
  /** Name of the room or of the conversation: the only `h1` of the page. */
  readonly title: string;
  /** Controls of the room. */
  readonly children?: ReactNode;
}

/** The row above a room, with the buttons of both panels. */
export function RoomHeader({ title, children }: RoomHeaderProps) {
  const hasTray = useValue(isSettled);
  const isWide = useWideForRail();
  const railIsShown = useValue(railIsOpen) && isWide;
  const inspectorIsShown = useValue(inspectorIsOpen);
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 px-2">
      {!railIsShown && (
        <IconButton label="Open the sidebar" keys={keysOf("b")} onClick={toggleRail}>
          <PanelLeft aria-hidden />
        </IconButton>
      )}
      <h1 className="min-w-0 truncate px-2 text-sm font-medium">{title}</h1>
      <div className="flex grow items-center justify-end gap-1">
        <Suspense>{hasTray && <Tray />}</Suspense>
        {children}
        <IconButton
          label="Inspector"
          keys={keysOf(".")}
          aria-pressed={inspectorIsShown}
          onClick={toggleInspector}
        >
          <PanelRight aria-hidden />
        </IconButton>
      </div>
    </header>
  );
}
