import clsx from "clsx";
import { type ComponentType, type ReactNode, startTransition, useCallback, useEffect, useState } from "react";
import { ErrorBoundary } from "react-error-boundary";
import { roomWords } from "../words.js";
import { Button } from "./button.js";

interface LaterProps {
  /** Content until the component is there: a trigger, a skeleton, or the place that it takes. */
  readonly fallback?: ReactNode;
  /** Content where it can't be loaded or fails. @default `fallback` */
  readonly failed?: ReactNode;
  /** Loads the component. @default true */
  readonly isNeeded?: boolean;
}

/** A component that is loaded when it is first needed. */
export type Later<Props> = ComponentType<Props & LaterProps> & {
  /** Loads it ahead of time; resolves to false where it can't be loaded now. */
  readonly preload: () => Promise<boolean>;
};

/** Place of the text about a part that can't be loaded; "none" for a part that no one waits for. */
type TextPlace = "inline" | "page" | "none";

/**
 * Makes a component of which the script loads when it is first needed. Unlike `lazy`, it is there in the first render
 * where it was loaded before, and in the next one where it comes: React delays what Suspense reveals. Where it can't be
 * loaded or fails, the fallback stays, with a text and "Try again".
 */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  textPlace: TextPlace = "inline",
): Later<Props> {
  let Loaded: ComponentType<Props> | undefined;
  let loading: Promise<boolean> | undefined;

  function preload(): Promise<boolean> {
    loading ??= load().then(
      (component) => {
        Loaded = component;
        return true;
      },
      () => {
        loading = undefined;
        return false;
      },
    );
    return loading;
  }

  function Shown({ fallback = null, failed = fallback, isNeeded = true, ...props }: Props & LaterProps) {
    const [{ hasFailed }, setOutcome] = useState({ hasFailed: false });
    const isMissing = isNeeded && !Loaded;
    const attempt = useCallback(async () => {
      const isThere = await preload();
      // rendered in slices: a large part would block the page
      startTransition(() => setOutcome({ hasFailed: !isThere }));
    }, []);
    useEffect(() => {
      if (!isMissing) return;
      void attempt();
      addEventListener("online", attempt);
      return () => removeEventListener("online", attempt);
    }, [isMissing, attempt]);

    const withText = (onRetry: () => void) => (
      <>
        {failed}
        {textPlace !== "none" && <NotLoaded isOverPage={textPlace === "page"} onRetry={onRetry} />}
      </>
    );
    if (isMissing && hasFailed) return withText(() => void attempt());
    if (isMissing || !isNeeded || !Loaded) return fallback;
    return (
      <ErrorBoundary fallbackRender={({ resetErrorBoundary }) => withText(resetErrorBoundary)}>
        {/* TypeScript does not know that `Props` without those of `later` is the rest; a component in `memo` needs no others */}
        <Loaded {...(props as unknown as Props)} />
      </ErrorBoundary>
    );
  }
  return Object.assign(Shown, { preload });
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
