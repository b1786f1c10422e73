import { describe, test } from "vitest";

/** Defines tests of recorded data. A clone without the data has one skipped test that says so, in place of all of them. */
export function describeRecorded<Data>(title: string, data: Data | undefined, define: (data: Data) => void) {
  if (data) describe(title, () => define(data));
  else test.skip(`${title}: left out, ../shared/conformance is absent`);
}
