import type { Span } from "@opentelemetry/api";

/** The spans that have begun and not ended, by key. */
export interface OpenSpans {
  /** Returns the span of `key`, which `start` begins if there is none; undefined for one that was abandoned. */
  of(key: string, start: () => Span): Span | undefined;
  /** Forgets `key`: its span ends now. */
  close(key: string): void;
}

/**
 * Creates a list of at most `max` open spans. One more ends the oldest as `abandoned`: a call whose end never comes, such
 * as a stream that nobody reads, holds no memory for ever and is seen all the same. As many keys of abandoned spans are
 * remembered, so that what comes of them later begins no second span.
 */
export function createOpenSpans(max: number): OpenSpans {
  // both keep the order in which their entries were added
  const open = new Map<string, Span>();
  const abandoned = new Set<string>();
  return {
    of(key, start) {
      const known = open.get(key);
      if (known || abandoned.has(key)) return known;
      const span = start();
      open.set(key, span);
      if (open.size > max) abandon(first(open));
      return span;
    },
    close(key) {
      open.delete(key);
      abandoned.delete(key);
    },
  };

  function abandon(key: string): void {
    open.get(key)?.setAttribute("sluice.outcome", "abandoned").end();
    open.delete(key);
    abandoned.add(key);
    if (abandoned.size > max) abandoned.delete(first(abandoned));
  }
}

function first(keys: { keys(): Iterable<string> }): string {
  const [key = ""] = keys.keys();
  return key;
}
