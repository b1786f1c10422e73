import { budget, idempotency, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { test, vi } from "vitest";
import { countRuns, openRandom, SEED } from "../../worker-proxy/test/support/random.js";
import { openFile } from "./support/database-file.js";
import { openGateway, openStoredProxy, silenceLog } from "./support/stored-proxy.js";
import { openOrderGateway, orderOptions, RESERVED, runOrder } from "./support/stream-orders.js";

const rest = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/* The processes are one after the other, on one file. */

test("no order of faults, silences, readers, repeats, stops and crashes on Node loses an event, reports a wrong end, or leaves a slot or a reservation (case 119)", async () => {
  silenceLog();
  for (let run = 0; run < countRuns(20); run += 1) {
    const random = openRandom(SEED + run);
    const orders = openOrderGateway(random);
    const file = await openFile();
    const gateway = openGateway((request) => orders.respond(request));
    const start = () =>
      openStoredProxy({
        ...orderOptions,
        host: nodeHost({ file, env: {} }),
        gateway,
        plugins: [
          budget({ limits: { user: 1e9 }, windowMs: 1e12, reserve: () => RESERVED }),
          resumableStreams(),
          idempotency(),
        ],
      });
    let process = start();
    const past: (typeof process)[] = [process];
    const user = `user-${run}`;
    await runOrder(random, orders, {
      user,
      get jobs() {
        return past.flatMap(({ jobs }) => jobs);
      },
      send: (request) => process.proxy.fetch(request, {}) as Promise<Response>,
      async lose() {
        await process.host.crash();
        process = start();
        past.push(process);
        await process.host.silenceOwners(user);
      },
      async passTime() {
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
      },
    }).catch((error: Error) => {
      error.message = `seed ${SEED + run}: ${error.message}`;
      throw error;
    });
    await process.host.crash();
    // jobs of the past try nothing again
    vi.setSystemTime(Date.now() + 3_600_000);
    for (const { host } of past) host.rejectPending();
    await rest(10);
    vi.useRealTimers();
  }
});
