const waiting: (() => void)[] = [];

/** Runs each work in a separate task, the newest first: many responses at once would block the page. */
export function runSoon(work: () => void): void {
  waiting.push(work);
  if (waiting.length === 1) setTimeout(next);
}

function next(): void {
  waiting.pop()?.();
  if (waiting.length > 0) setTimeout(next);
}
