import { expect, test } from "vitest";
import { expectLog } from "../../../../packages/worker-proxy/test/support/expected-log.js";
import { createFileServer } from "./support/file-server.js";
import { type HistoryServer, playHistory } from "./support/history.js";
import { createSyncServer } from "./support/sync-server.js";

// a history ends the server while requests are in flight
expectLog("nodeHost: it is closed");

// SLUICE_HISTORY_SEED=1000 SLUICE_HISTORIES=500 plays others, and more of them
const first = Number(process.env["SLUICE_HISTORY_SEED"] ?? 1);
const count = Number(process.env["SLUICE_HISTORIES"] ?? 20);

async function playHistories(createServer: () => HistoryServer & { close?(): Promise<void> }, runs: number) {
  const failures: string[] = [];
  for (let seed = first; seed < first + runs && failures.length < 3; seed += 1) {
    const server = createServer();
    const problems = await playHistory(server, seed);
    await server.close?.();
    if (problems.length > 0) failures.push(problems.join("\n"));
  }
  return failures.join("\n\n");
}

function createScriptedServer(): HistoryServer {
  const { connect, backUp } = createSyncServer();
  return {
    connect,
    async backUp() {
      const restore = backUp();
      return async () => restore();
    },
    rest: async () => {},
  };
}

test("Histories of two users on three browsers end with nothing lost, mixed up or different", async () => {
  expect(await playHistories(createScriptedServer, count)).toBe("");
}, 600_000);

test("The same histories with the server of this lab on a file", async () => {
  expect(await playHistories(createFileServer, Math.ceil(count / 4))).toBe("");
}, 600_000);
