import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { sync, type TurnOptions } from "@sluice/sync/server";
import type { GatewayProxy, ProxyPlugin } from "@sluice/worker-proxy";
import { PostgresPool } from "../../../../packages/durable/src/host/postgres-pool.js";
import { createSyncProxy } from "../server/support/proxy.js";

/** The sync server of this lab on a database, with several accounts. */
export interface HistoryServer {
  /** Returns the `fetch` of a page. `readUser()` returns the user of its session. */
  connect(readUser: () => string | undefined): (request: Request) => Promise<Response>;
  /** Ends the process, takes a backup and starts it again. Returns the function that restores the backup. */
  backUp(): Promise<() => Promise<void>>;
  /** Waits until neither the server nor a page has anything to do. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** The model and the options of the turns of a server. */
export interface HistoryTurns {
  readonly gateway: (request: Request) => Promise<Response>;
  readonly turns: TurnOptions;
}

/** A database that a process has open. */
interface HistoryDatabase {
  /** The path of the file, or the schema. */
  readonly name: string;
  readonly openHost: () => ReturnType<typeof nodeHost>;
  /** Stores all that the database has. Returns the function that brings it back. */
  copy(nth: number): Promise<() => Promise<void>>;
  /** Runs a statement while no process has the database. */
  run(sql: string): Promise<void>;
  /** Time that a notification takes, in milliseconds. */
  readonly delayMs: number;
  close(): Promise<void>;
}

/** Turns that ran as the process ended: the time of their lease passes before the next start. */
export const END_LEASES = "UPDATE sync_turns SET alive_until = 0 WHERE state = 'running'";

// the platform's digest takes a thread, whose time no seed decides
crypto.subtle.digest = async (_, data) => {
  const bytes = createHash("sha256")
    .update(new Uint8Array(data as ArrayBuffer))
    .digest();
  return new Uint8Array(bytes).buffer;
};

/** Opens a server on an empty database. */
export function openServer(database: HistoryDatabase, { gateway, turns }: HistoryTurns): HistoryServer {
  let [requests, backups] = [0, 0];
  let host = database.openHost();
  let proxy = openProxy();
  let changing: Promise<void> = Promise.resolve();
  return {
    connect: (readUser) => async (request) => {
      requests += 1;
      try {
        await changing;
        const user = readUser();
        const headers = new Headers(request.headers);
        if (user !== undefined) headers.set("authorization", user);
        return await proxy.fetch(new Request(request, { headers }), {});
      } finally {
        requests -= 1;
      }
    },
    async backUp() {
      backups += 1;
      let restore = async () => {};
      await restart(async () => {
        restore = await database.copy(backups);
      });
      return () => restart(restore);
    },
    /** Waits for requests and turns: until three rounds in a row have found none. */
    async settle() {
      for (let quiet = 0; quiet < 3; ) {
        await changing;
        for (let turn = 0; turn < 4; turn += 1) await setImmediate();
        // answers after the locks that were requested before it
        await navigator.locks.query();
        quiet = requests > 0 || countRuns() > 0 ? 0 : quiet + 1;
        // leaves the processor to the process of the database
        if (quiet === 0 && database.delayMs > 0) await setTimeout(1);
        if (quiet === 2 && database.delayMs > 0) await setTimeout(database.delayMs);
      }
    },
    async close() {
      await changing;
      await host.close(0);
      await database.close();
    },
  };

  function openProxy(): GatewayProxy {
    const plugin = sync({ turns });
    countOperations(plugin);
    return createSyncProxy(host, plugin, gateway);
  }

  function restart(change: () => Promise<void>): Promise<void> {
    changing = changing.then(async () => {
      await host.close(0);
      await change();
      await database.run(END_LEASES).catch(() => {});
      host = database.openHost();
      proxy = openProxy();
    });
    return changing;
  }
}

let runs = 0;
const counted = new WeakSet<object>();
const countRuns = () => runs;

/** Counts the operations that run. */
function countOperations({ storage }: ProxyPlugin): void {
  for (const operation of storage?.operations ?? []) {
    if (counted.has(operation)) continue;
    counted.add(operation);
    const run = operation.run as (...given: unknown[]) => Promise<unknown>;
    Object.assign(operation, {
      async run(...given: unknown[]) {
        runs += 1;
        try {
          return await run(...given);
        } finally {
          runs -= 1;
        }
      },
    });
  }
}

/** Creates an empty SQLite file. */
export async function createSQLite(): Promise<HistoryDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "sync-history-"));
  const file = join(folder, "server.db");
  return {
    name: file,
    openHost: () => nodeHost({ file }),
    delayMs: 0,
    async copy(nth) {
      const copy = join(folder, `backup-${nth}.db`);
      copyFiles(file, copy);
      return async () => copyFiles(copy, file);
    },
    async run(sql) {
      const opened = new DatabaseSync(file);
      opened.exec(sql);
      opened.close();
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

function copyFiles(from: string, to: string): void {
  for (const end of ["", "-wal", "-shm"]) {
    rmSync(to + end, { force: true });
    if (existsSync(from + end)) copyFileSync(from + end, to + end);
  }
}

let schemas = 0;

/** Creates an empty schema of a Postgres. */
export async function createPostgres(url: string): Promise<HistoryDatabase> {
  schemas += 1;
  const schema = `history_${process.pid}_${schemas}`;
  const pool = new PostgresPool({ url, sessionURL: undefined, schema, connection: { max: 1 } });
  const run = (sql: string) => pool.transact(null, async (query) => void (await query(sql)));
  return {
    name: schema,
    openHost: () => postgresHost({ url, schema }),
    delayMs: 3,
    async copy(nth) {
      const tables = await pool.read((query) =>
        query<{ name: string }>(
          "SELECT tablename AS name FROM pg_tables WHERE schemaname = ? AND tablename NOT LIKE 'backup_%' AND tablename <> 'host_statements'",
          schema,
        ),
      );
      for (const { name } of tables) await run(`CREATE TABLE backup_${nth}_${name} AS TABLE ${name}`);
      return async () => {
        for (const { name } of tables) {
          await run(`TRUNCATE ${name}`);
          await run(`INSERT INTO ${name} SELECT * FROM backup_${nth}_${name}`);
        }
      };
    },
    run,
    async close() {
      await run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await pool.close();
    },
  };
}
