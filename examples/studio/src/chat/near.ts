import { createContext, type RefObject, startTransition, use, useEffect, useRef, useState } from "react";

/** The box that scrolls. */
export const NearContext = createContext<{ readonly root: RefObject<HTMLElement | null> } | undefined>(
  undefined,
);

/** Distance to the visible part at which a turn is rendered in full. */
const MARGIN = "1200px 0px";

/** Says if an element is or was near the visible part of the log. `isNearAtFirst` is for those that are there at once. */
export function useNear<Target extends Element>(isNearAtFirst: boolean) {
  const scroll = use(NearContext);
  const ref = useRef<Target>(null);
  const [isNear, setIsNear] = useState(isNearAtFirst);
  useEffect(() => {
    if (isNear || !ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) startTransition(() => setIsNear(true));
      },
      { root: scroll?.root.current ?? null, rootMargin: MARGIN },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [isNear, scroll]);
  return { ref, isNear };
}
