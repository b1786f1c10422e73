import { useEffect } from "react";

/**
 * Lets the browser ask before the page is left, while `isActive`: for text or a request that would be lost. Browsers
 * show their own words, and only after the user has touched the page.
 *
 * @example
 * ```tsx
 * const { status } = useImages({ model: "gamma-image-5-0-260128" });
 * useLeaveWarning(status === "pending");
 * ```
 */
export function useLeaveWarning(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return;
    const ask = (event: BeforeUnloadEvent) => {
      event.preventDefault();
      // older browsers ask only for this
      event.returnValue = true;
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isActive]);
}
