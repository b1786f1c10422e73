import { expect, test } from "vitest";
import { playHistory } from "./support/history.js";
import { createSyncServer } from "./support/sync-server.js";

const first = Number(process.env["SLUICE_HISTORY_SEED"] ?? 1);
const count = Number(process.env["SLUICE_HISTORIES"] ?? 40);

test(`${count} histories of two users on three browsers end with nothing lost, mixed up or different`, async () => {
  const failures: string[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const server = createSyncServer();
    const problems = await playHistory(
      {
        connect: server.connect,
        async backUp() {
          const restore = server.backUp();
          return async () => restore();
        },
        rest: async () => {},
      },
      seed,
    );
    if (problems.length > 0) failures.push(problems.join("\n"));
    if (failures.length > 2) break;
  }
  expect(failures.join("\n\n")).toBe("");
}, 600_000);
