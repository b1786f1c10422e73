import { describe, test } from "vitest";

/**
 * Defines tests of recorded data, which the repository does not contain. Without the data, one skipped test says so in
 * place of all of them.
 */
export function describeRecorded<Data>(title: string, data: Data | undefined, define: (data: Data) => void) {
  if (data) describe(title, () => define(data));
  else test.skip(`${title} (skipped without the recorded data in ../shared/conformance)`);
}
