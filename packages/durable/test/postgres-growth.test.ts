import { expect, test } from "vitest";
import { migrate } from "../src/hosts/postgres/schema.js";
import { newSchema, openSQL } from "./support/postgres.js";

const ME = "11111111-1111-4111-8111-111111111111";
const OTHER = "22222222-2222-4222-8222-222222222222";
const TOKEN = "33333333-3333-4333-8333-333333333333";

/** Rows that each call of a process reads and writes, beside a number of objects of others, with an alarm and two rows each. */
async function costsBeside(objects: number): Promise<Record<string, number>> {
  const sql = openSQL();
  const schema = newSchema();
  await migrate(sql, schema);
  const name = sql(schema);
  const later = Date.now() + 3_600_000;
  await sql`INSERT INTO ${name}.processes SELECT id, '', clock_timestamp() + interval '1 hour'
    FROM unnest(ARRAY[${ME}, ${OTHER}]::uuid[]) id`;
  // a third has no owner, a third has one that lives, and a third nothing to wake for
  await sql`INSERT INTO ${name}.objects (binding, name, tables, alarm, alarm_set, owner, token)
    SELECT 'THING', 'object ' || n, '["CREATE"]', CASE WHEN n % 3 < 2 THEN ${later}::bigint + n END, ${later}::bigint + n,
      CASE WHEN n % 3 = 1 THEN ${OTHER}::uuid END, CASE WHEN n % 3 = 1 THEN ${TOKEN}::uuid END
    FROM generate_series(1, ${objects}::int) n`;
  await sql`INSERT INTO ${name}.rows SELECT o.id, 'row ' || n, 'things', '[1]', NULL
    FROM ${name}.objects o, generate_series(1, 2) n`;
  await sql`ANALYZE ${name}.objects`;
  await sql`ANALYZE ${name}.rows`;
  const changes = JSON.stringify({
    rows: [["a", "things", "[1]", null]],
    removed: ["b"],
    alarm: later,
    alarmIn: 100,
  });
  const calls: Record<string, string> = {
    claim: `claim('THING', 'mine', '${ME}', '${TOKEN}')`,
    keep: `keep((SELECT id FROM %s.objects WHERE binding = 'THING' AND name = 'mine'), '${ME}', '{${TOKEN}}', '${TOKEN}', '${changes}')`,
    beat: `beat('${ME}', 15000, '{}', 500)`,
    due: `due('${ME}', '${TOKEN}', 64)`,
  };
  const costs: Record<string, number> = {};
  for (const [step, call] of Object.entries(calls))
    costs[step] = await sql.begin(async (transaction) => {
      // the database reports once a second: until then it counts what earlier transactions of the connection did, too
      const rows = async () => {
        const [row] = await transaction`SELECT
          sum(seq_tup_read + coalesce(idx_tup_fetch, 0) + n_tup_ins + n_tup_upd + n_tup_del)::int AS n
          FROM pg_stat_xact_user_tables WHERE schemaname = ${schema}`;
        return Number(row?.["n"]);
      };
      const before = await rows();
      await transaction.unsafe(`SELECT * FROM "${schema}".${call.replace("%s", `"${schema}"`)}`);
      return (await rows()) - before;
    });
  await sql`DROP SCHEMA ${name} CASCADE`;
  return costs;
}

test("A step costs as many rows beside 100,000 stored objects as beside none", async () => {
  const few = await costsBeside(3);
  const many = await costsBeside(100_000);
  for (const [step, cost] of Object.entries(many))
    expect(cost, step).toBeLessThanOrEqual((few[step] ?? 0) + 5);
});
