import { createContext, type RefObject, use, useEffect, useRef, useState } from "react";

/** The box that scrolls. */
export const NearContext = createContext<{ readonly root: RefObject<HTMLElement | null> } | undefined>(
  undefined,
);

const waiting: (() => void)[] = [];

/** Runs work in a task of its own, the newest first: many answers at once would block the page. */
export function soon(work: () => void): void {
  waiting.push(work);
  if (waiting.length === 1) setTimeout(next);
}

function next(): void {
  waiting.pop()?.();
  if (waiting.length > 0) setTimeout(next);
}

/** Distance to the visible part at which a turn is rendered in full. */
const MARGIN = "800px 0px";

/** Says if an element is or was near the visible part of the log. `isNearAtFirst` is for those that are there at once. */
export function useNear<Target extends Element>(isNearAtFirst: boolean) {
  const scroll = use(NearContext);
  const ref = useRef<Target>(null);
  const [isNear, setIsNear] = useState(isNearAtFirst);
  useEffect(() => {
    if (isNear || !ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) soon(() => setIsNear(true));
      },
      { root: scroll?.root.current ?? null, rootMargin: MARGIN },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [isNear, scroll]);
  return { ref, isNear };
}
