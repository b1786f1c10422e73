import { onTestFinished } from "vitest";

/** The loops that a test has started. */
export interface TestLoops {
  readonly running: Set<{ readonly name: string }>;
  isOver: boolean;
}

/**
 * Creates the list of loops of the current test; undefined outside a test. The test fails if a loop still runs at its
 * end: an endless loop would slow down the tests of other files.
 */
export function trackLoops(): TestLoops | undefined {
  const loops: TestLoops = { running: new Set(), isOver: false };
  try {
    onTestFinished(() => {
      loops.isOver = true;
      const names = [...loops.running].map(({ name }) => name).join(" and ");
      if (names) throw new Error(`The test ended while ${names} was running. Await a promise that settles.`);
    });
  } catch {
    return undefined;
  }
  return loops;
}

/** Runs a loop for a test. The loop calls `check`, which throws once the test is over. */
export async function runLoop<T>(
  name: string,
  loop: (check: () => void) => Promise<T>,
  test = trackLoops(),
): Promise<T> {
  const check = () => {
    if (test?.isOver) throw new Error(`${name} runs after the end of its test.`);
  };
  check();
  const entry = { name };
  test?.running.add(entry);
  try {
    return await loop(check);
  } finally {
    test?.running.delete(entry);
  }
}
