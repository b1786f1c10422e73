import clsx from "clsx";
import { FlaskConical, WifiOff } from "lucide-react";
import { type ReactNode, useEffect, useMemo } from "react";
import { isCut } from "../client.js";
import { isSettled, openRoute, useRoute } from "../routes.js";
import { isAway } from "../server.js";
import { Tooltips } from "../ui/button.js";
import { later } from "../ui/later.js";
import { Menu, Sheet } from "../ui/popups.js";
import { useValue } from "../value.js";
import { Rail } from "./bars.js";
import {
  inspectorIsOpen,
  inspectorSheetIsOpen,
  overlay,
  railDrawerIsOpen,
  railIsOpen,
  toggleInspector,
  toggleRail,
  useShortcuts,
  useWideForInspector,
  useWideForRail,
} from "./commands.js";

const Inspector = later(async () => (await import("../inspector/inspector.js")).Inspector);
const Palette = later(async () => (await import("./overlays.js")).Palette, "page");
const Shortcuts = later(async () => (await import("./overlays.js")).Shortcuts, "page");
const Readme = later(async () => (await import("./overlays.js")).Readme, "page");
const Toasts = later(async () => (await import("../ui/toasts.js")).Toasts, "none");
const Tasks = later(async () => (await import("./tray.js")).Tasks, "none");

/** The frame around every room: rail, banner, inspector, toasts and shortcuts. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const isCalm = useValue(isSettled);
  const { room } = useRoute();
  useEffect(() => {
    if (isCalm) Menu.preload();
  }, [isCalm]);
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
      <Toasts isNeeded={isCalm} />
      {/* a room that sends what is billed warns before it is left */}
      <Tasks isNeeded={isCalm || room !== "chat"} />
      <Overlay />
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
  const isDrawerOpen = useValue(railDrawerIsOpen);
  if (!useWideForRail())
    return (
      <Sheet title="Sidebar" side="left" isPlain isOpen={isDrawerOpen} onOpenChange={railDrawerIsOpen.set}>
        <Rail />
      </Sheet>
    );
  return (
    <div className={clsx("w-65 shrink-0 flex-col border-r bg-surface", isOpen ? "flex" : "hidden")}>
      <Rail />
    </div>
  );
}

function InspectorPanel() {
  const isOpen = useValue(inspectorIsOpen);
  const isSheetOpen = useValue(inspectorSheetIsOpen);
  if (!useWideForInspector())
    return (
      <Sheet title="Inspector" side="right" isOpen={isSheetOpen} onOpenChange={inspectorSheetIsOpen.set}>
        <Inspector />
      </Sheet>
    );
  return isOpen ? (
    <aside
      aria-label="Inspector"
      className="flex w-[clamp(22.5rem,30vw,34rem)] shrink-0 flex-col border-l bg-surface"
    >
      <Inspector />
    </aside>
  ) : null;
}

/** Says that nothing here is real or costs money, and that the server cannot be reached. */
function Banner() {
  const isPlayed = useValue(isCut);
  const isOffline = useValue(isAway) || isPlayed;
  // a studio in front of another gateway is no demo
  if (!isOffline && import.meta.env.VITE_GATEWAY) return null;
  const Icon = isOffline ? WifiOff : FlaskConical;
  return (
    <header
      className={clsx(
        "flex h-7 shrink-0 items-center justify-center gap-2 text-xs",
        isOffline ? "bg-warn-soft text-warn" : "bg-accent-soft text-ink short:hidden",
      )}
    >
      <Icon className={clsx("size-3.5", !isOffline && "text-accent")} aria-hidden />
      <span role="status">
        {isOffline
          ? "No connection · It resumes by itself"
          : "Offline emulator · Free · Answers are scripted"}
      </span>
    </header>
  );
}
