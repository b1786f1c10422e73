import { test } from "vitest";
import { expectWholeAfterCuts } from "./support/kept-answers.js";

test("a resumable stream is complete after two lost connections at any bytes, and requested once", () =>
  expectWholeAfterCuts(1));
