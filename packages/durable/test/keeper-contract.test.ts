import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testKeeper } from "@sluice/durable/testing";
import { afterAll, describe, test } from "vitest";
import { openSQLiteKeeper } from "../src/hosts/node/sqlite-keeper.js";
import { openPostgresKeeper } from "../src/hosts/postgres/postgres-keeper.js";
import type { Keeper } from "../src/hosts/process/keeper.js";
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
