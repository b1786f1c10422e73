import { useEffect } from "react";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** A shortcut: its key with ⌘ on a Mac and Ctrl elsewhere. */
export interface Shortcut {
  readonly key: string;
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
      if (!(isMac ? event.metaKey : event.ctrlKey) || event.altKey || event.isComposing) return;
      const pressed = shortcuts.find(
        ({ key, withShift = false }) => event.key.toLowerCase() === key && event.shiftKey === withShift,
      );
      if (!pressed) return;
      event.preventDefault();
      pressed.run();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [shortcuts]);
}
