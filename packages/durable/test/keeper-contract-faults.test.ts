import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testKeeper } from "@sluice/durable/testing";
import { afterAll, expect, test } from "vitest";
import { openSQLiteKeeper } from "../src/hosts/node/sqlite-keeper.js";
import type { Changes, Keeper } from "../src/hosts/process/keeper.js";
import { keeperWith } from "./support/keepers.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-keepers-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("The tests of a keeper refuse one that forgets a row, one that forgets tables, and one that invents an alarm", async () => {
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
});

function changed(keeper: Keeper, change: (changes: Changes) => Changes): Keeper {
  return keeperWith(keeper, (write, changes) => write(change(changes)));
}
