import { useEffect } from "react";

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
