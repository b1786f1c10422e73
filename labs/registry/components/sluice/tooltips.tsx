"use client";

import { useEffect, useRef } from "react";

/** Time for which the pointer must rest, in milliseconds. */
const DELAY_MS = 400;
const GAP = 6;

/**
 * Shows the text of any element's `data-tip` on hover and keyboard focus; render it once in the page. The element has the
 * same text as its name, so that screen readers do not need the tooltip.
 */
export function Tooltips() {
  const tip = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hide = () => {
      clearTimeout(timer);
      if (tip.current?.matches(":popover-open")) tip.current.hidePopover();
    };
    const findTarget = ({ target }: Event) => (target as Element).closest?.<HTMLElement>("[data-tip]");
    const showAfter = (event: Event, ms: number) => {
      hide();
      const target = findTarget(event);
      if (target && tip.current) timer = setTimeout(show, ms, tip.current, target);
    };
    const onPointer = (event: PointerEvent) => event.pointerType === "mouse" && showAfter(event, DELAY_MS);
    document.addEventListener("pointerover", onPointer, { signal });
    document.addEventListener("pointerdown", hide, { signal });
    document.addEventListener("keydown", hide, { signal });
    document.addEventListener("focusout", hide, { signal });
    const onFocus = (event: FocusEvent) =>
      findTarget(event)?.matches(":focus-visible") && showAfter(event, 0);
    document.addEventListener("focusin", onFocus, { signal });
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, []);

  return (
    <div
      ref={tip}
      popover="manual"
      aria-hidden
      className="pointer-events-none fixed m-0 rounded-md bg-foreground px-2 py-1 text-xs whitespace-pre text-background"
    />
  );
}

function show(tip: HTMLElement, target: HTMLElement): void {
  // an open popup covers the button
  if (!target.isConnected || target.ariaExpanded === "true") return;
  tip.textContent = target.dataset["tip"] ?? "";
  tip.showPopover();
  const { left, top, bottom, width } = target.getBoundingClientRect();
  const { width: ownWidth, height: ownHeight } = tip.getBoundingClientRect();
  const below = bottom + GAP;
  const y = below + ownHeight > innerHeight ? top - GAP - ownHeight : below;
  const x = Math.min(Math.max(GAP, left + width / 2 - ownWidth / 2), innerWidth - ownWidth - GAP);
  tip.style.inset = `${y}px auto auto ${x}px`;
}
