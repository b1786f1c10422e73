import clsx from "clsx";
import { type ComponentType, type ReactNode, startTransition, useCallback, useEffect, useState } from "react";
import { ErrorBoundary } from "react-error-boundary";
import { Button } from "@/components/sluice/button";
import { roomWords } from "../words.js";

interface LaterProps {
  /** Content until the component is there, and where it can't be loaded: a trigger, a skeleton, or its place. */
  readonly fallback?: ReactNode;
  /** Loads the component. @default true */
  readonly isNeeded?: boolean;
}

/** Place of the text about a part that can't be loaded; "none" for a part that no one waits for. */
type TextPlace = "inline" | "page" | "none";

/**
 * Makes a component of which the script loads when it is first needed. Unlike one of `lazy`, it is there in the first
 * render where `preload` has loaded it, React delays nothing of it, and a load that failed is tried again: when the
 * network is back, and by a press on "Try again".
 */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  textPlace: TextPlace = "inline",
) {
  let Loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;

  /** Loads it ahead of time. After a failure the next call tries again. */
  function preload(): Promise<void> {
    loading ??= load().then(
      (component) => {
        Loaded = component;
      },
      () => {
        loading = undefined;
      },
    );
    return loading;
  }

  function Part({ fallback = null, isNeeded = true, ...props }: Props & LaterProps) {
    const [attempts, setAttempts] = useState(0);
    const isMissing = isNeeded && !Loaded;
    const attempt = useCallback(async () => {
      await preload();
      // rendered in slices: a large part would block the page
      startTransition(() => setAttempts((count) => count + 1));
    }, []);
    useEffect(() => {
      if (!isMissing) return;
      void attempt();
      addEventListener("online", attempt);
      return () => removeEventListener("online", attempt);
    }, [isMissing, attempt]);

    const failed = (onRetry: () => void) => (
      <>
        {fallback}
        {textPlace !== "none" && <NotLoaded isOverPage={textPlace === "page"} onRetry={onRetry} />}
      </>
    );
    if (isMissing && attempts > 0) return failed(() => void attempt());
    if (!isNeeded || !Loaded) return fallback;
    return (
      <ErrorBoundary fallbackRender={({ resetErrorBoundary }) => failed(resetErrorBoundary)}>
        {/* TypeScript does not know that `Props` without those of `later` is the rest */}
        <Loaded {...(props as unknown as Props)} />
      </ErrorBoundary>
    );
  }
  return Object.assign(Part, { preload });
}

interface NotLoadedProps {
  readonly isOverPage?: boolean;
  readonly onRetry: () => void;
}

/** The text about a part that could not be loaded, and the way to try again. */
function NotLoaded({ isOverPage = false, onRetry }: NotLoadedProps) {
  return (
    <span
      role="alert"
      className={clsx(
        "inline-flex items-center gap-2 text-sm",
        isOverPage ? "popup fixed inset-x-4 bottom-4 z-50 mx-auto w-fit py-1 pr-1 pl-4" : "m-auto pl-2",
      )}
    >
      {roomWords.partUnloadable}
      <Button onClick={onRetry}>Try again</Button>
    </span>
  );
}
