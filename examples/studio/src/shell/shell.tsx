import clsx from "clsx";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { openRoute } from "../routes.js";
import { Sheet, type SheetProps } from "../ui/popups.js";
import { Tooltips } from "../ui/tooltips.js";
import { useValue, type Value } from "../value.js";
import { Banner } from "./banner.js";
import { useShortcuts } from "./keys.js";
import {
  inspectorIsOpen,
  inspectorSheetIsOpen,
  overlay,
  railDrawerIsOpen,
  railIsOpen,
  toggleInspector,
  toggleRail,
  useWideForInspector,
  useWideForRail,
} from "./panels.js";
import { Rail } from "./rail.js";
import { isSettled } from "./rooms.js";

const Toasts = lazy(async () => ({ default: (await import("../ui/popups/toasts.js")).Toasts }));
const Inspector = lazy(async () => ({ default: (await import("../inspector/inspector.js")).Inspector }));

const TaskNotices = lazy(async () => ({ default: (await import("./tray.js")).TaskNotices }));
const Palette = lazy(async () => ({ default: (await import("./palette.js")).Palette }));
const Shortcuts = lazy(async () => ({ default: (await import("./shortcuts.js")).Shortcuts }));
const Readme = lazy(async () => ({ default: (await import("../welcome/readme.js")).Readme }));

/** The frame around every room: rail, banner, inspector, toasts and shortcuts. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const isCalm = useValue(isSettled);
  useShortcuts(
    useMemo(
      () => [
        { key: "k", run: () => overlay.set("palette") },
        { key: "?", isPlain: true, run: () => overlay.set("shortcuts") },
        { key: "b", run: toggleRail },
        { key: ".", run: toggleInspector },
        { key: "o", withShift: true, run: () => openRoute({ room: "chat" }) },
      ],
      [],
    ),
  );
  return (
    <>
      <div className="isolate flex h-full flex-col">
        <Banner />
        <div className="flex min-h-0 grow">
          <RailPanel />
          <main className="flex min-w-0 grow flex-col">{children}</main>
          <InspectorPanel />
        </div>
      </div>
      <Suspense>
        {isCalm && (
          <>
            <Toasts />
            <TaskNotices />
          </>
        )}
      </Suspense>
      <Suspense>
        <Overlay />
      </Suspense>
      <Tooltips />
    </>
  );
}

function Overlay() {
  switch (useValue(overlay)) {
    case "palette":
      return <Palette />;
    case "shortcuts":
      return <Shortcuts />;
    case "readme":
      return <Readme />;
    default:
      return null;
  }
}

function RailPanel() {
  const isOpen = useValue(railIsOpen);
  if (!useWideForRail())
    return (
      <Drawer title="Sidebar" side="left" isPlain value={railDrawerIsOpen}>
        <Rail />
      </Drawer>
    );
  return (
    <div className={clsx("w-65 shrink-0 flex-col border-r bg-surface", isOpen ? "flex" : "hidden")}>
      <Rail />
    </div>
  );
}

function InspectorPanel() {
  const isOpen = useValue(inspectorIsOpen);
  const panel = (
    <Suspense>
      <Inspector />
    </Suspense>
  );
  if (!useWideForInspector())
    return (
      <Drawer title="Inspector" side="right" value={inspectorSheetIsOpen}>
        {panel}
      </Drawer>
    );
  return isOpen ? (
    <aside
      aria-label="Inspector"
      className="flex w-[clamp(22.5rem,30vw,34rem)] shrink-0 flex-col border-l bg-surface"
    >
      {panel}
    </aside>
  ) : null;
}

interface DrawerProps extends Pick<SheetProps, "title" | "side" | "isPlain" | "children"> {
  readonly value: Value<boolean>;
}

/** A sheet whose script is loaded when it is opened for the first time. */
function Drawer({ value, ...rest }: DrawerProps) {
  const isOpen = useValue(value);
  const [isNeeded, setIsNeeded] = useState(isOpen);
  if (isOpen && !isNeeded) setIsNeeded(true);
  return isNeeded ? <Sheet isOpen={isOpen} onOpenChange={value.set} {...rest} /> : null;
}
