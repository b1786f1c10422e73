import { parseArgs } from "node:util";
import { fillGuide, readGuide, writeGuide } from "./guide.ts";
import { readChatFaults, readResults, storeResults } from "./results.ts";
import { isReader, runAll, runFaults } from "./run.ts";

/*
 * Writes the results of docs/comparison.md:
 *
 *   node tests/clients/faults/table.ts                   writes the stored results
 *   node tests/clients/faults/table.ts --run             first runs all clients, which takes two minutes
 *   node tests/clients/faults/table.ts --client openai   prints the verdicts of one client, and writes nothing
 */

const { values } = parseArgs({ options: { run: { type: "boolean" }, client: { type: "string" } } });
const { run, client } = values;
if (client === undefined) {
  if (run) storeResults(await runAll());
  writeGuide(fillGuide(readGuide(), readResults(), readChatFaults()));
} else if (isReader(client)) console.log(JSON.stringify(await runFaults(client)));
else throw new Error(`There is no client ${client}.`);
// the timers of clients that hang
process.exit();
