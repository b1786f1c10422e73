import { test } from "vitest";
import { expectWholeAfterCuts } from "./support/kept-answers.js";

test("an answer that the proxy keeps is whole after two cuts at any bytes, and requested once", () =>
  expectWholeAfterCuts(1));
