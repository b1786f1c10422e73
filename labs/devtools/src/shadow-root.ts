import { type RefObject, useEffect, useState, useSyncExternalStore } from "react";
import { styles } from "./styles.js";

/**
 * Returns a shadow root. Returns undefined on a server and while the page hydrates.
 *
 * @param container element that the host fills. @default the host is at the end of the page
 */
export function useShadowRoot(container?: RefObject<HTMLElement | null>): ShadowRoot | undefined {
  const isHydrated = useIsHydrated();
  const [root] = useState(createShadowRoot);
  useEffect(() => {
    if (!root) return;
    root.host.toggleAttribute("docked", container !== undefined);
    (container?.current ?? document.body).append(root.host);
    return () => root.host.remove();
  }, [root, container]);
  return isHydrated ? root : undefined;
}

const subscribeToNothing = () => () => {};

/** Returns false on a server and during hydration, since both must render the same. */
function useIsHydrated(): boolean {
  return useSyncExternalStore(
    subscribeToNothing,
    () => true,
    () => false,
  );
}

function createShadowRoot(): ShadowRoot | undefined {
  if (typeof document === "undefined") return undefined;
  const root = document.createElement("sluice-devtools").attachShadow({ mode: "open" });
  // `style-src 'self'` allows a sheet that a script creates
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets = [sheet];
  return root;
}
