import { test } from "vitest";
import { expectCompleteAfterCuts } from "./support/resumable-streams.js";

test("a resumable stream is complete after two lost connections at any bytes, and requested once", () =>
  expectCompleteAfterCuts(1));
