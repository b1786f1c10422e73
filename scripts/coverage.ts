import { writeFileSync } from "node:fs";
import { coveragePage } from "../tests/rules/all.ts";

/* Writes the page that lists every rule of the spec with the test that shows it. */

writeFileSync(new URL("../packages/core/COVERAGE.md", import.meta.url), coveragePage());
