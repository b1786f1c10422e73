import type { Span } from "@opentelemetry/api";

/** Open spans by key. */
export interface OpenSpans {
  /** Returns the span of `key`, or starts it with `start`. Returns undefined if the span was abandoned. */
  getOrStart(key: string, start: () => Span): Span | undefined;
  /** Removes `key`, because its span ends now. */
  close(key: string): void;
}

/**
 * Creates a list of at most `max` open spans. Another span ends the oldest as `abandoned`, so that a call without an
 * end, such as an unread stream, is exported and never leaks memory. The list remembers `max` keys of abandoned spans,
 * so that late events start no second span.
 */
export function createOpenSpans(max: number): OpenSpans {
  // the first key of both is the oldest
  const open = new Map<string, Span>();
  const abandoned = new Set<string>();
  return {
    getOrStart(key, start) {
      const known = open.get(key);
      if (known || abandoned.has(key)) return known;
      const span = start();
      open.set(key, span);
      if (open.size > max) abandon(getFirstKey(open));
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
    if (abandoned.size > max) abandoned.delete(getFirstKey(abandoned));
  }
}

function getFirstKey(keys: { keys(): Iterable<string> }): string {
  const [key = ""] = keys.keys();
  return key;
}
