import { readFileSync, writeFileSync } from "node:fs";
import { listModels } from "../tests/rules/model-list.ts";

/* Writes the list of models for coding agents. */

const page = new URL("../packages/core/AGENTS.md", import.meta.url);
const text = readFileSync(page, "utf8");
writeFileSync(page, text.replace(/(?<=\n## Models\n\n)-.*?(?=\n\n)/s, listModels));
