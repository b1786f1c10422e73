import { streams } from "virtual:conformance";
import { test } from "vitest";
import { decodeBase64, splitBytes } from "./support/gateway.js";
import { describeRecorded } from "./support/recorded.js";
import {
  expectAsRecorded,
  expectInRandomCuts,
  expectTruncated,
  isSample,
  isSlow,
} from "./support/recorded-streams.js";

/* The recordings that platform/conformance.test.ts leaves out, and all recordings cut at many positions. */

describeRecorded("recorded streams", streams, (all) => {
  for (const [index, recorded] of all.entries()) {
    const bytes = decodeBase64(recorded.base64);

    if (!isSample(index)) {
      test(`${recorded.id} gives the recorded response whole and in random cuts`, () =>
        expectInRandomCuts(recorded, bytes));

      test(`${recorded.id} cut before its end is truncated, and keeps the text that arrived`, () =>
        expectTruncated(recorded, bytes, { maxCuts: 16 }));
    }

    if (!isSample(index) || isSlow(bytes))
      test(`${recorded.id} gives the recorded response byte by byte`, () =>
        expectAsRecorded(recorded, splitBytes(bytes, 1)));

    test(`${recorded.id} cut at many positions is truncated, and keeps the text that arrived`, () =>
      expectTruncated(recorded, bytes, { maxCuts: 640 }));
  }
});
