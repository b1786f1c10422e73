import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testKeeper } from "@sluice/durable/testing";
import { afterAll, describe, expect, test } from "vitest";
import { openSQLiteKeeper } from "../src/hosts/node/sqlite-keeper.js";
import { openPostgresKeeper } from "../src/hosts/postgres/postgres-keeper.js";
import type { Changes, Keeper } from "../src/hosts/process/keeper.js";
import { keeperWith } from "./support/keepers.js";
import { newSchema, url } from "./support/postgres.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-keepers-"));
afterAll(() => rmSync(folder, { recursive: true }));

const schemas = new Map<string, string>();
function openPostgres(store: string): Promise<Keeper> {
  const schema = schemas.get(store) ?? newSchema();
  schemas.set(store, schema);
  return openPostgresKeeper({ url, schema, address: "http://127.0.0.1:1", leaseMs: 15_000 });
}

describe(`The keeper of objects in ${url ? "Postgres" : "SQLite"}`, () => {
  if (url) testKeeper({ open: openPostgres, isShared: true, test });
  else testKeeper({ open: async (store) => openSQLiteKeeper(join(folder, store)), test });
});

test.skipIf(url)(
  "The tests of a keeper refuse one that forgets a row, one that forgets tables, and one that invents an alarm",
  async () => {
    const wrong: Record<string, (keeper: Keeper) => Keeper> = {
      row: (keeper) => changed(keeper, (changes) => ({ ...changes, rows: changes.rows.slice(1) })),
      removal: (keeper) => changed(keeper, (changes) => ({ ...changes, removed: [] })),
      alarm: (keeper) => changed(keeper, (changes) => ({ ...changes, alarm: Date.now() - 1 })),
    };
    for (const [name, wrap] of Object.entries(wrong)) {
      const runs: (() => Promise<void>)[] = [];
      testKeeper({
        open: async (store) => wrap(openSQLiteKeeper(join(folder, `${name} ${store}`))),
        test: (_, run) => runs.push(run),
      });
      const ended = await Promise.allSettled(runs.map((run) => run()));
      expect(
        ended.some(({ status }) => status === "rejected"),
        name,
      ).toBe(true);
    }
  },
);

function changed(keeper: Keeper, change: (changes: Changes) => Changes): Keeper {
  return keeperWith(keeper, (write, changes) => write(change(changes)));
}
