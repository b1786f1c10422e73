import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeHost } from "@sluice/durable/node";
import { sync } from "@sluice/sync/server";
import { createSyncProxy } from "../../server/support/proxy.js";
import type { HistoryServer } from "./history.js";

/** Waits for the database, which answers in tasks of its own. */
const REST_MS = 10;

/** The sync server of this lab on a SQLite file. A backup is a copy of the file; a restore starts the process anew. */
export function createFileServer(): HistoryServer & { close(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "sync-history-"));
  const file = join(folder, "server.db");
  let backups = 0;
  let host = nodeHost({ file });
  let proxy = createSyncProxy(host, sync());
  let changing: Promise<void> = Promise.resolve();
  return {
    connect: (readUser) => async (request) => {
      await changing;
      const user = readUser();
      const headers = new Headers(request.headers);
      if (user !== undefined) headers.set("authorization", user);
      return proxy.fetch(new Request(request, { headers }), {});
    },
    async backUp() {
      backups += 1;
      const copy = join(folder, `backup-${backups}.db`);
      await stopWhile(() => copyFiles(file, copy));
      return () => stopWhile(() => copyFiles(copy, file));
    },
    rest: () => new Promise((resolve) => setTimeout(resolve, REST_MS)),
    async close() {
      await host.close(100);
      rmSync(folder, { recursive: true, force: true });
    },
  };

  async function stopWhile(change: () => void): Promise<void> {
    changing = changing.then(async () => {
      await host.close(100);
      change();
      host = nodeHost({ file });
      proxy = createSyncProxy(host, sync());
    });
    await changing;
  }
}

function copyFiles(from: string, to: string): void {
  for (const end of ["", "-wal", "-shm"]) {
    rmSync(to + end, { force: true });
    if (existsSync(from + end)) copyFileSync(from + end, to + end);
  }
}
