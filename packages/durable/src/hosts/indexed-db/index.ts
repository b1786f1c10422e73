import type { DurableObjectClass } from "../../objects/object.js";
import { DRAIN_MS, type Objects, openBound } from "../process/bound-objects.js";
import { openDatabaseKeeper } from "./database-keeper.js";
import { openStores } from "./stores.js";
import { openWasmSQLite, type SQLiteModule } from "./wasm-sqlite.js";

export type { Objects } from "../process/bound-objects.js";
export { databaseBucket } from "./database-bucket.js";
export type { SQLiteModule } from "./wasm-sqlite.js";

/** Options of {@link openObjects}. */
export interface ObjectsOptions<Env, Names extends string> {
  /** Name of the IndexedDB database that keeps everything. It is made where it is missing. One worker has it at a time. */
  readonly database: string;
  /** SQLite, as `await sqlite3InitModule()` of `@sqlite.org/sqlite-wasm` gives it. */
  readonly sqlite: SQLiteModule;
  /** The classes of objects by the names of their bindings, `{ STREAM_LOG: StreamLog }`. A name keeps its objects: don't change it. */
  readonly objects: Readonly<Record<Names, DurableObjectClass<never>>>;
  /** Variables of the Worker. A browser keeps no secret from its user: never give a real key. */
  readonly env: Env;
}

/**
 * Keeps the durable parts of the proxy in a Service Worker: for a demo or a test that runs without a server, over the
 * emulator. The browser may end the worker at any time. What was answered is kept by then; alarms that came due come first
 * in the next one, and what was in flight ends as after a crash.
 *
 * Waits while another worker of this origin has the database.
 *
 * @throws {Error} where the browser has no IndexedDB, as in some private windows
 * @example
 * ```ts
 * import { streamLogObject, type ObjectNamespace } from "@sluice/durable";
 * import { openObjects } from "@sluice/durable/indexed-db";
 * import sqlite3InitModule from "@sqlite.org/sqlite-wasm";
 *
 * interface Settings {
 *   readonly STREAM_LOG: ObjectNamespace;
 * }
 * const StreamLog = streamLogObject<Settings>({
 *   baseURL: "https://gateway.test", // the emulator, in the same worker
 *   apiKey: () => "sk-test",
 *   namespace: (env) => env.STREAM_LOG,
 * });
 * const { env } = await openObjects({
 *   database: "kept-answers",
 *   sqlite: await sqlite3InitModule(),
 *   objects: { STREAM_LOG: StreamLog },
 *   env: {},
 * });
 * ```
 */
export async function openObjects<Env extends object, Names extends string>({
  database,
  sqlite,
  objects,
  env,
}: ObjectsOptions<Env, Names>): Promise<Objects<Env, Names>> {
  const giveUp = await holdAlone(`sluice/objects/${database}`);
  const { live, env: bound } = openBound(openDatabaseKeeper(openStores(database)), objects, env, {
    openSQLite: () => openWasmSQLite(sqlite),
  });
  return {
    env: bound,
    async close(withinMs = DRAIN_MS) {
      await live.close(withinMs);
      giveUp();
    },
  };
}

/** Waits for a lock, and returns what gives it up. The browser does where the worker ends. */
function holdAlone(name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = () => new Promise<void>((giveUp) => resolve(giveUp));
    navigator.locks.request(name, held).catch(reject);
  });
}
