import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from "react";

/** A reader this close to the end, coming down, wants to follow again. */
const NEAR_PX = 32;

/** What `useStickToBottom` gives. */
interface StickToBottom<Box extends HTMLElement> {
  /** For the element that scrolls; what grows must be its only child. */
  readonly box: RefObject<Box | null>;
  /** The reader has scrolled up and is not following. */
  readonly isAway: boolean;
  readonly jumpToEnd: () => void;
}

/**
 * Keeps the end of growing content in view, until the reader scrolls up; the end of the page resumes it. Content
 * that is not a thread (`isThread` false) begins at its beginning.
 */
export function useStickToBottom<Box extends HTMLElement>(isThread = true): StickToBottom<Box> {
  const box = useRef<Box>(null);
  const sticks = useRef(true);
  const [isAway, setAway] = useState(false);

  useLayoutEffect(() => {
    const element = box.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    sticks.current = true;
    setAway(false);
    if (!isThread) {
      element.scrollTop = 0;
      return;
    }
    let lastTop = element.scrollTop;
    const follow = () => {
      if (!sticks.current) return;
      element.scrollTop = element.scrollHeight;
      // content that shrinks (a fold) moves the page up too: that is not the reader's doing
      lastTop = element.scrollTop;
    };
    const readScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      const gap = scrollHeight - scrollTop - clientHeight;
      if (scrollTop < lastTop && gap > 1) sticks.current = false;
      else if (gap < NEAR_PX) sticks.current = true;
      lastTop = scrollTop;
      setAway(!sticks.current);
    };
    const sizes = new ResizeObserver(follow);
    sizes.observe(element);
    sizes.observe(content);
    element.addEventListener("scroll", readScroll, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", readScroll);
    };
  }, [isThread]);

  const jumpToEnd = useCallback(() => {
    sticks.current = true;
    setAway(false);
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    box.current?.scrollTo({ top: box.current.scrollHeight, behavior: isCalm ? "instant" : "smooth" });
  }, []);

  return { box, isAway, jumpToEnd };
}
