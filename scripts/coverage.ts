import { readFileSync, writeFileSync } from "node:fs";
import { coveragePage } from "../tests/rules/all.ts";
import { modelsTable } from "../tests/rules/models-table.ts";

/* Writes the page that lists every rule of the spec with the test that shows it, and the facts about models for agents. */

const core = new URL("../packages/core/", import.meta.url);
writeFileSync(new URL("COVERAGE.md", core), coveragePage());

const agents = new URL("AGENTS.md", core);
const text = readFileSync(agents, "utf8");
writeFileSync(agents, text.replace(/(?<=\n## Models\n\n)\|.*?\|(?=\n\n)/s, modelsTable));
