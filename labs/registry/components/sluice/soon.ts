const queue: (() => void)[] = [];

/** Runs each function in a separate task, the newest first: many responses rendered at once would block the page. */
export function runSoon(work: () => void): void {
  queue.push(work);
  if (queue.length === 1) setTimeout(runNext);
}

function runNext(): void {
  queue.pop()?.();
  if (queue.length > 0) setTimeout(runNext);
}
