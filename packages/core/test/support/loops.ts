import { onTestFinished } from "vitest";

/** The loops that a test has started. */
export interface TestLoops {
  readonly running: Set<{ readonly name: string }>;
  isOver: boolean;
}

/**
 * Returns the loops of the test that runs now, and undefined outside a test. The test fails if one of them still runs at
 * its end: a loop without an end would go on behind the tests of other files, and slow them down.
 */
export function findTest(): TestLoops | undefined {
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

/** Runs a loop for a test. `check` throws once the test is over, so that the loop ends, too. */
export async function runLoop<T>(
  name: string,
  loop: (check: () => void) => Promise<T>,
  test = findTest(),
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
