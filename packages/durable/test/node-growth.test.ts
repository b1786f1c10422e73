import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSQLiteKeeper } from "../src/hosts/node/sqlite-keeper.js";

test("No statement on the file of a Node host reads through all objects, all rows or all alarms", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-growth-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "objects.db");
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  onTestFinished(() => prepare.mockRestore());
  const keeper = openSQLiteKeeper(path);
  const kept = await keeper.open({ binding: "THING", name: "one" });
  if ("owner" in kept) throw new Error("one process has all objects");
  const row = { place: "a", table: "things", values: [1] };
  await kept.write({ schema: ["CREATE"], rows: [row], removed: ["b"], alarm: 1 });
  await keeper.due(64);
  await keeper.close();
  const statements = new Set(
    prepare.mock.calls.map(([text]) => text).filter((text) => !/^PRAGMA/.test(text)),
  );
  prepare.mockRestore();
  expect(statements.size).toBeGreaterThan(8);

  const file = new DatabaseSync(path);
  onTestFinished(() => file.close());
  const numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 100000)";
  file.exec(`${numbers} INSERT INTO objects (binding, name, schema, alarm) SELECT 'THING', 'object ' || n, '[]', n FROM n;
    ${numbers} INSERT INTO rows SELECT n + 1, 'a', 'things', '[1]', NULL FROM n; ANALYZE`);
  for (const statement of statements) {
    const plan = file.prepare(`EXPLAIN QUERY PLAN ${statement}`).all();
    const steps = plan.map(({ detail }) => String(detail));
    // the earliest alarms are read in the order of their index, up to a limit
    const whole = steps.filter(
      (step) => /^SCAN|TEMP B-TREE/.test(step) && !/USING INDEX objects_by_alarm/.test(step),
    );
    expect(whole, statement).toEqual([]);
  }
});
