import { parseArgs } from "node:util";
import { startPostgres } from "../../../../packages/durable/test/support/postgres-server.ts";
import { loadHistories } from "./bundle.ts";

/*
 * Plays histories of devices. Each seed is one history.
 *
 *   node labs/sync/test/histories/run.ts --count 10000              on a SQLite file
 *   node labs/sync/test/histories/run.ts --count 100 --postgres     on a Postgres
 *   node labs/sync/test/histories/run.ts --first 7 --count 1        one history again
 */

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "1" },
    count: { type: "string", default: "100" },
    postgres: { type: "boolean", default: false },
  },
});
const [first, count] = [Number(values.first), Number(values.count)];

const { playHistories } = await loadHistories();
const postgres = values.postgres ? await startPostgres() : undefined;
const startedAt = performance.now();
let played = 0;
const broken = await playHistories({
  ...{ first, count, postgres: postgres?.url },
  onPlayed(seed) {
    played += 1;
    if (played % 100 === 0) console.log(`${seed}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  },
});
await postgres?.close();
console.log(broken.join("\n\n"));
console.log(
  `${played} histories, ${broken.length} broken, ${((performance.now() - startedAt) / 1000).toFixed(0)} s`,
);
if (broken.length > 0) process.exitCode = 1;
