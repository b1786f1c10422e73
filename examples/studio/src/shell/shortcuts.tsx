import { Dialog } from "../ui/popups.js";
import { keysOf } from "./keys.js";
import { closeOverlay } from "./panels.js";

const shortcuts: readonly (readonly [keys: string, action: string])[] = [
  [keysOf("k"), "Search and commands"],
  [keysOf("o", true), "New chat"],
  [keysOf("b"), "Sidebar"],
  [keysOf("."), "Inspector"],
  ["Enter", "Send"],
  ["Shift+Enter", "New line"],
  ["↑", "Edit the last question"],
  ["Esc", "Stop the answer"],
  ["?", "This list"],
];

/** The list of keys. */
export function Shortcuts() {
  return (
    <Dialog title="Shortcuts" isOpen onOpenChange={closeOverlay}>
      <dl className="grid grid-cols-[1fr_auto] gap-y-3 text-sm">
        {shortcuts.map(([keys, action]) => (
          <div key={keys} className="contents">
            <dt>{action}</dt>
            <dd>
              <kbd className="rounded-md border bg-surface px-2 py-1 font-sans text-xs">{keys}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
