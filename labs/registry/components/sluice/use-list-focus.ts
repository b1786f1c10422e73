"use client";

import { type FocusEvent, useEffect, useRef } from "react";

/** The row with the keyboard focus. */
interface FocusTarget {
  /** Element that had the focus last: in a row, or in the menu of one. */
  readonly element: Element;
  /** `data-row` of its row. */
  readonly row: string;
  /** Position of its row. */
  readonly index: number;
}

/**
 * Keeps the keyboard focus in a list whose rows change: a row may become a field, move, or be removed.
 *
 * If the focused element is gone, the menu button of its row gets the focus. If the row is gone, the next row gets it,
 * until an undo restores the removed row. Rows need a unique `data-row`. Spread the returned props on the list.
 */
export function useListFocus<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const focused = useRef<FocusTarget>(undefined);
  /** The row that was removed while it had the focus, and the element that got the focus. */
  const removed = useRef<{ readonly row: string; readonly successor: Element }>(undefined);
  useEffect(() => {
    const restoreFocus = () => {
      const list = ref.current;
      const last = focused.current;
      // most changes of the page are words of a response
      if (!list || (!removed.current && last?.element.isConnected !== false)) return;
      const { activeElement: active, body } = document;
      const isLost = active === null || active === body;
      const rows = listRows(list);
      const restored = rows.find((row) => row.dataset["row"] === removed.current?.row);
      if (restored && (isLost || active === removed.current?.successor)) {
        removed.current = undefined;
        return focusRow(restored);
      }
      if (!last || !isLost || last.element.isConnected) return;
      const sameRow = rows.find((row) => row.dataset["row"] === last.row);
      const next = sameRow ?? rows[Math.min(last.index, rows.length - 1)] ?? list;
      focusRow(next);
      if (!sameRow && document.activeElement)
        removed.current = { row: last.row, successor: document.activeElement };
    };
    const observer = new MutationObserver(restoreFocus);
    // observes the whole page, because the focus may be in a menu or in a toast with "Undo" that closes
    observer.observe(document.body, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, []);
  return {
    ref,
    tabIndex: -1,
    // React also reports the focus in menus of the rows, which are elsewhere in the page
    onFocus({ target }: FocusEvent<T>) {
      const rows = ref.current ? listRows(ref.current) : [];
      const index = rows.findIndex((row) => row.contains(target));
      const row = rows[index]?.dataset["row"];
      if (row !== undefined) focused.current = { element: target, row, index };
      else if (focused.current) focused.current = { ...focused.current, element: target };
    },
  };
}

function listRows(list: HTMLElement): readonly HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>("[data-row]")];
}

/** Focuses the menu button of a row, or an element outside of rows. A row that is a field focuses itself. */
function focusRow(row: HTMLElement): void {
  if (row.querySelector("input")) return;
  (
    row.querySelector<HTMLElement>("[aria-haspopup]") ??
    row.querySelector<HTMLElement>("button, a") ??
    row
  ).focus();
}
