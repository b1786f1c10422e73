import { afterAll, beforeAll } from "vitest";

/**
 * Silences lines of the proxy's log that the tests of this file cause. Any other line is printed, and fails its test.
 *
 * @param parts texts; a line must contain one of them
 */
export function expectLog(...parts: readonly string[]): void {
  let print: typeof console.error;
  beforeAll(() => {
    print = console.error;
    console.error = (line: unknown, ...more: unknown[]) => {
      const isExpected = parts.some((part) => String(line).includes(part));
      if (!isExpected) print(line, ...more);
    };
  });
  afterAll(() => {
    console.error = print;
  });
}
