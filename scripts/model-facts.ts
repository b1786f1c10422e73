import { readFileSync, writeFileSync } from "node:fs";
import { modelsTable } from "../tests/rules/models-table.ts";

/* Writes the table of models for coding agents. */

const page = new URL("../packages/core/AGENTS.md", import.meta.url);
const text = readFileSync(page, "utf8");
writeFileSync(page, text.replace(/(?<=\n## Models\n\n)\|.*?\|(?=\n\n)/s, modelsTable));
