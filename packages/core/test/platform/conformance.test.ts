import { streams } from "virtual:conformance";
import { test } from "vitest";
import { decodeBase64, splitBytes } from "../support/gateway.js";
import { describeRecorded } from "../support/recorded.js";
import {
  expectAsRecorded,
  expectInRandomCuts,
  expectTruncated,
  isSample,
  isSlow,
} from "../support/recorded-streams.js";

/* A sample of the recorded streams. All of them are in conformance-all.ci.test.ts. */

describeRecorded("recorded streams", streams, (all) => {
  for (const recorded of all.filter((_, index) => isSample(index))) {
    const bytes = decodeBase64(recorded.base64);

    test(`${recorded.id} gives the recorded response whole and in random cuts`, () =>
      expectInRandomCuts(recorded, bytes));

    if (!isSlow(bytes))
      test(`${recorded.id} gives the recorded response byte by byte`, () =>
        expectAsRecorded(recorded, splitBytes(bytes, 1)));

    test(`${recorded.id} cut before its end is truncated, and keeps the text that arrived`, () =>
      expectTruncated(recorded, bytes, { maxCuts: 16 }));
  }
});
