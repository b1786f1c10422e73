import { useEffect, useState } from "react";

/** The time, in Unix milliseconds. While it `isNeeded`, the component renders again every `everyMs`. */
export function useNow(everyMs: number, isNeeded = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isNeeded) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isNeeded]);
  return now;
}
