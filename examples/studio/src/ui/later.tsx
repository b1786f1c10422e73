import { type ComponentType, type ReactNode, useEffect, useReducer } from "react";

/** A component that is loaded when it is first shown. */
export type Later<Props> = ComponentType<Props & { readonly fallback?: ReactNode }> & {
  /** Loads it ahead of time. */
  readonly preload: () => Promise<unknown>;
};

/**
 * Makes a component of which the script loads when it is first shown. Unlike `lazy`, it is there in the first render
 * where it was loaded before, and in the next one where it comes: React delays what Suspense reveals.
 */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): Later<Props> {
  let Loaded: ComponentType<Props> | undefined;
  let loading: Promise<unknown> | undefined;

  function preload(): Promise<unknown> {
    loading ??= load().then(
      (component) => {
        Loaded = component;
      },
      () => {
        // offline: the next one that is shown tries again
        loading = undefined;
      },
    );
    return loading;
  }

  function Shown({ fallback = null, ...props }: Props & { readonly fallback?: ReactNode }) {
    const [, render] = useReducer((count: number) => count + 1, 0);
    const isMissing = !Loaded;
    useEffect(() => {
      if (isMissing) void preload().then(render);
    }, [isMissing]);
    return Loaded ? <Loaded {...(props as unknown as Props)} /> : fallback;
  }
  return Object.assign(Shown, { preload });
}
