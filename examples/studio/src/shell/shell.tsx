import { useStore } from "@nanostores/react";
import clsx from "clsx";
import { FlaskConical, WifiOff } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Tooltips } from "@/components/sluice/tooltips";
import { isCut } from "../client.js";
import { useAnswerInFlight } from "../inspector/feed.js";
import { isSettled, openRoute, useRoute } from "../rooms.js";
import { isAway, isDemo, isHosted } from "../server.js";
import { later } from "../ui/later.js";
import { Dialog, Menu, Sheet, Toasts } from "../ui/popups.js";
import { bannerWords } from "../words.js";
import { Rail } from "./bars.js";
import {
  closeOverlay,
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
const Palette = later(async () => {
  const [{ Palette: Loaded }] = await Promise.all([import("./overlays.js"), Dialog.preload()]);
  return Loaded;
}, "page");
const Shortcuts = later(async () => (await import("./overlays.js")).Shortcuts, "page");
const Readme = later(async () => (await import("./overlays.js")).Readme, "page");
const Tasks = later(async () => (await import("./tray.js")).Tasks, "none");

/** The frame around every room: rail, banner, inspector, toasts and shortcuts. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const isCalm = useStore(isSettled);
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
  switch (useStore(overlay)) {
    case "palette":
      return <Search />;
    case "shortcuts":
      return <Shortcuts />;
    case "readme":
      return <Readme />;
    default:
      return null;
  }
}

const searchTitle = "Search and commands";
const searchField = {
  placeholder: "Search or run a command",
  className: "h-12 shrink-0 border-b bg-transparent px-4 outline-none",
};

/** The palette. A field stands in for its own until that has the focus, so that no letter is lost. */
function Search() {
  const [text, setText] = useState("");
  const [isThere, setIsThere] = useState(false);
  const [isComposing, setIsComposing] = useState(false);
  const field = { ...searchField, "aria-label": searchTitle };
  useFocusAfterwards();
  return (
    <>
      <Palette
        text={text}
        onText={setText}
        title={searchTitle}
        field={{ ...field, onFocus: () => setIsThere(true) }}
        // another field would break off the word that is being composed
        isNeeded={!isComposing}
      />
      {!isThere && (
        // it shows where the palette takes a moment
        <>
          <div
            aria-hidden
            className="fixed inset-0 z-40 bg-black/50 transition-opacity delay-150 starting:opacity-0"
            onPointerDown={closeOverlay}
          />
          <div className="popup fixed top-[10vh] left-1/2 z-40 flex delay-150 starting:opacity-0 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col">
            <input
              // biome-ignore lint/a11y/noAutofocus: the user has asked for it
              autoFocus
              {...field}
              value={text}
              onChange={({ target }) => setText(target.value)}
              onKeyDown={({ key, nativeEvent }) =>
                key === "Escape" && !nativeEvent.isComposing && closeOverlay()
              }
              onCompositionStart={() => setIsComposing(true)}
              onCompositionEnd={() => setIsComposing(false)}
            />
          </div>
        </>
      )}
    </>
  );
}

/** Gives the focus back to where it was. The text field of the chat may be another one by then. */
function useFocusAfterwards(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (document.activeElement !== document.body || !(before instanceof HTMLElement)) return;
      if (before.isConnected) before.focus();
      else document.querySelector<HTMLElement>("main textarea")?.focus();
    },
    [before],
  );
}

function RailPanel() {
  const isOpen = useStore(railIsOpen);
  const isDrawerOpen = useStore(railDrawerIsOpen);
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
  const isOpen = useStore(inspectorIsOpen);
  const isSheetOpen = useStore(inspectorSheetIsOpen);
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
  const isPlayed = useStore(isCut);
  const isOffline = useStore(isAway) || isPlayed;
  const isStreaming = useAnswerInFlight();
  // a studio in front of another gateway is no demo
  const text = bannerWords({ isOffline, isStreaming, isDemo, isHosted });
  if (!text) return null;
  const Icon = isOffline ? WifiOff : FlaskConical;
  return (
    <header
      className={clsx(
        "flex h-7 shrink-0 items-center justify-center gap-2 text-xs",
        isOffline ? "bg-warn-soft text-warn" : "bg-accent-soft text-ink short:hidden",
      )}
    >
      <Icon className={clsx("size-3.5", !isOffline && "text-accent")} aria-hidden />
      <span role="status">{text}</span>
    </header>
  );
}
