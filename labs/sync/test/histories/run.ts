import { parseArgs } from "node:util";
import { startPostgres } from "../../../../packages/durable/test/support/postgres-server.ts";
import { loadHistories } from "./bundle.ts";
import { findBug, knownBugs } from "./known-bugs.ts";

/*
 * Plays histories of devices. Each seed is one history.
 *
 *   node labs/sync/test/histories/run.ts --count 10000              on a SQLite file
 *   node labs/sync/test/histories/run.ts --count 100 --postgres     on a Postgres
 *   node labs/sync/test/histories/run.ts --first 7 --count 1        one history again
 *   node labs/sync/test/histories/run.ts --put-back                 puts each known bug back, and looks for it;
 *                                                                   --only <part of a name> for some
 *   node labs/sync/test/histories/run.ts --costs                    what each step costs at 100,000 conversations, and
 *                                                                   at 50 MB in one
 */

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "1" },
    count: { type: "string", default: "100" },
    postgres: { type: "boolean", default: false },
    "put-back": { type: "boolean", default: false },
    costs: { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});
const [first, count] = [Number(values.first), Number(values.count)];

if (values["put-back"]) await putBack();
else if (values.costs) await printCosts();
else await play();

async function play(): Promise<void> {
  const { playHistories } = await loadHistories();
  const postgres = values.postgres ? await startPostgres() : undefined;
  const startedAt = performance.now();
  const countSeconds = () => ((performance.now() - startedAt) / 1000).toFixed(0);
  let played = 0;
  const broken = await playHistories({
    ...{ first, count, postgres: postgres?.url },
    onPlayed(seed, text) {
      played += 1;
      if (text !== undefined) console.log(`${text}\n`);
      if (played % 50 === 0) console.log(`seed ${seed}: ${countSeconds()} s`);
    },
  });
  await postgres?.close();
  console.log(`${played} histories, ${broken.length} broken, ${countSeconds()} s`);
  if (broken.length > 0) process.exitCode = 1;
}

async function putBack(): Promise<void> {
  for (const bug of knownBugs.filter(({ name }) => name.includes(values.only))) {
    const found = await findBug(bug, first, count);
    console.log(`${found ? `found      ${bug.name}: ${found}` : `not found  ${bug.name}`}`);
    if (!found) process.exitCode = 1;
  }
}

async function printCosts(): Promise<void> {
  const { measureCosts } = await loadHistories();
  const { costs, problems } = await measureCosts({ conversations: 100_000, messages: 50_000, devices: 10 });
  console.table(costs);
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) process.exitCode = 1;
}
