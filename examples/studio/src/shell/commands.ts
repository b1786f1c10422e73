import { atom } from "nanostores";
import { useEffect } from "react";
import { keptAtom, useMedia } from "../browser.js";

const isBoolean = (kept: unknown): kept is boolean => typeof kept === "boolean";

/** Says if the rail is open, where the screen has room for it. */
export const railIsOpen = keptAtom("sluice-rail", true, isBoolean);
/** Says if the inspector is open beside the room. Open on the first visit. */
export const inspectorIsOpen = keptAtom("sluice-inspector", true, isBoolean);
const views = ["code", "network", "state"] as const;
type View = (typeof views)[number];

/** The tab of the inspector. The browser keeps it between visits. */
export const inspectorView = keptAtom<View>("sluice-inspector-view", "code", (kept): kept is View =>
  views.some((known) => known === kept),
);

/** Says if the rail lies over the page, on a small screen. */
export const railDrawerIsOpen = atom(false);
/** Says if the inspector lies over the page, on a small screen. */
export const inspectorSheetIsOpen = atom(false);

/** Name of the folder of which the rail shows the chats; undefined where it shows all. */
export const shownFolder = atom<string | undefined>(undefined);

/** Says if the rail can stand beside the room. */
export function useWideForRail(): boolean {
  return useMedia("(width >= 48rem)");
}

/** Says if the inspector can stand beside the room, too. */
export function useWideForInspector(): boolean {
  return useMedia("(width >= 72rem)");
}

/** Opens or closes the rail, or its drawer on a small screen. */
export function toggleRail(): void {
  const value = matchMedia("(width >= 48rem)").matches ? railIsOpen : railDrawerIsOpen;
  value.set(!value.get());
}

/** Shows the rail, or its drawer on a small screen. */
export function openRail(): void {
  const value = matchMedia("(width >= 48rem)").matches ? railIsOpen : railDrawerIsOpen;
  value.set(true);
}

/** Opens or closes the inspector, or its sheet on a small screen. */
export function toggleInspector(): void {
  const value = matchMedia("(width >= 72rem)").matches ? inspectorIsOpen : inspectorSheetIsOpen;
  value.set(!value.get());
}

/** The box of the shell that lies over the page. */
export const overlay = atom<"palette" | "shortcuts" | "readme" | undefined>(undefined);

/** Closes the box. */
export function closeOverlay(): void {
  overlay.set(undefined);
}

/** A verb of the room on screen, for the palette. */
export interface RoomCommand {
  readonly label: string;
  readonly run: () => void;
}

/** The verbs of the room on screen. */
export const roomCommands = atom<readonly RoomCommand[]>([]);

/** Offers the verbs of the room that calls this while it is shown. What is false is left out. */
export function useRoomCommands(commands: readonly (RoomCommand | false)[]): void {
  // without dependencies: functions are new in each render, and setting a value without subscribers costs nothing
  useEffect(() => roomCommands.set(commands.filter((command) => command !== false)));
  useEffect(() => () => roomCommands.set([]), []);
}

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

/** The chosen theme. `public/boot.js` applies it before the first paint of the next visit. */
export const theme = keptAtom<Theme>("sluice-theme", "system", (kept): kept is Theme =>
  themes.some((known) => known === kept),
);

theme.listen((chosen) => {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
});

/** Chooses the next theme: system, light, dark. */
export function nextTheme(): void {
  theme.set(themes[(themes.indexOf(theme.get()) + 1) % themes.length] ?? "system");
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** A shortcut: its key with ⌘ on a Mac and Ctrl elsewhere. */
export interface Shortcut {
  readonly key: string;
  /** A key without ⌘ or Ctrl; it does nothing while one writes. */
  readonly isPlain?: boolean;
  readonly withShift?: boolean;
  readonly run: () => void;
}

/** Writes a shortcut as its keys: `⌘B`, `Ctrl+B`. */
export function keysOf(key: string, withShift = false): string {
  const name = key.toUpperCase();
  if (isMac) return `${withShift ? "⇧" : ""}⌘${name}`;
  return `Ctrl+${withShift ? "Shift+" : ""}${name}`;
}

/** Runs shortcuts wherever the focus is. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.altKey || event.isComposing || event.defaultPrevented) return;
      const hasCommand = isMac ? event.metaKey : event.ctrlKey;
      const pressed = shortcuts.find(({ key, withShift = false, isPlain = false }) => {
        if (event.key.toLowerCase() !== key || isPlain === hasCommand) return false;
        return isPlain ? !isWriting(event) : event.shiftKey === withShift;
      });
      if (!pressed) return;
      event.preventDefault();
      pressed.run();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [shortcuts]);
}

function isWriting({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}
