import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { type SyncOptions, sync, type TurnOptions } from "@sluice/sync/server";
import type { Host } from "@sluice/worker-proxy";
import { onTestFinished } from "vitest";
import { postgresURL } from "../../../../../packages/durable/test/support/hosts.js";
import { createDevice } from "./device.js";
import { createSyncProxy } from "./proxy.js";

export { stopPostgres } from "../../../../../packages/durable/test/support/hosts.js";
export type { Device } from "./device.js";

/** The databases on which the server is tested in this process. */
export const databases = ["SQLite", "Postgres"] as const;
export type Database = (typeof databases)[number];

/** Options of {@link openServer}. */
export interface ServerOptions extends Omit<SyncOptions, "turns"> {
  /** Runs turns. */
  readonly turns?: TurnOptions | undefined;
  /** A SQLite file, or a schema of Postgres. @default an empty one */
  readonly name?: string;
  /** The gateway. @default it refuses */
  readonly gateway?: (request: Request) => Promise<Response>;
}

let schemas = 0;

/** Creates the name of an empty database. */
export function createName(database: Database): string {
  schemas += 1;
  return database === "SQLite" ? ":memory:" : `sync_${process.pid}_${schemas}`;
}

/** Opens a server. Its user is the text in `authorization`. */
export async function openServer(database: Database, { name, gateway, turns, quota }: ServerOptions = {}) {
  const target = name ?? createName(database);
  const host: Host & { close(ms?: number): Promise<void> } =
    database === "SQLite"
      ? nodeHost({ file: target })
      : postgresHost({ url: await postgresURL(), schema: target });
  const plugin = sync({ ...(quota && { quota }), ...(turns && { turns }) });
  const proxy = createSyncProxy(host, plugin, gateway);
  let isClosed = false;
  const close = async () => {
    if (!isClosed) await host.close(100);
    isClosed = true;
  };
  onTestFinished(close);
  const { userData } = plugin;
  return {
    proxy,
    close,
    device: (user: string) => createDevice((request) => proxy.fetch(request, {}), user),
    eraseUser: async (user: string) => userData?.eraseUser({}, user),
    exportUser: async (user: string) => userData?.exportUser({}, user),
  };
}
