"use client";

import { type FocusEvent, useEffect, useRef } from "react";

/** The place of the keyboard in a list. */
interface FocusTarget {
  /** Element that had the focus last: in a row, or in the menu of one. */
  readonly element: Element;
  /** `data-row` of its row. */
  readonly row: string;
  /** Number of rows before that. */
  readonly at: number;
}

/**
 * Keeps the keyboard's place in a list whose rows become a field, go to another part of it, or are removed. Where the
 * element with the focus is gone, the menu button of its row has it; of a row that is gone, the one that has come into its
 * place, until an undo brings the first one back. Rows have `data-row`, a name of their own. The props are those of the
 * element around them.
 */
export function useListFocus<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const place = useRef<FocusTarget>(undefined);
  /** Row that was removed with the focus in it, and the element that has the focus in its place. */
  const gone = useRef<{ readonly row: string; readonly instead: Element }>(undefined);
  useEffect(() => {
    const keep = () => {
      const list = ref.current;
      const last = place.current;
      // the page changes with each word of a response
      if (!list || (!gone.current && last?.element.isConnected !== false)) return;
      const { activeElement: active, body } = document;
      const isLost = active === null || active === body;
      const rows = listRows(list);
      const back = rows.find((row) => row.dataset["row"] === gone.current?.row);
      if (back && (isLost || active === gone.current?.instead)) {
        gone.current = undefined;
        return focusRow(back);
      }
      if (!last || !isLost || last.element.isConnected) return;
      const own = rows.find((row) => row.dataset["row"] === last.row);
      const next = own ?? rows[Math.min(last.at, rows.length - 1)] ?? list;
      focusRow(next);
      if (!own && document.activeElement) gone.current = { row: last.row, instead: document.activeElement };
    };
    const observer = new MutationObserver(keep);
    // all of the page: a menu, and the message with "Undo", take the focus with them
    observer.observe(document.body, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, []);
  return {
    ref,
    tabIndex: -1,
    // comes from menus of the rows, too, which stand elsewhere in the page
    onFocus({ target }: FocusEvent<T>) {
      const rows = ref.current ? listRows(ref.current) : [];
      const at = rows.findIndex((row) => row.contains(target));
      const row = rows[at]?.dataset["row"];
      if (row !== undefined) place.current = { element: target, row, at };
      else if (place.current) place.current = { ...place.current, element: target };
    },
  };
}

function listRows(list: HTMLElement): readonly HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>("[data-row]")];
}

/** Focuses the menu button of a row, or what has no row. A row that is a field takes the focus by itself. */
function focusRow(row: HTMLElement): void {
  if (row.querySelector("input")) return;
  (
    row.querySelector<HTMLElement>("[aria-haspopup]") ??
    row.querySelector<HTMLElement>("button, a") ??
    row
  ).focus();
}
