import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashText } from "@sluice/worker-proxy/plugin";
import { test, vi } from "vitest";
import { countRuns, openRandom, SEED } from "../../worker-proxy/test/support/random.js";
import { jobs, proxy, type StoredEnv } from "./fixture/stored-worker.js";
import { gateway } from "./support/durable-gateway.js";
import { openOrderGateway, runOrder } from "./support/stream-orders.js";

const { STORED } = env as unknown as { readonly STORED: TestNamespace };

const openObject = async (user: string) => STORED.get(STORED.idFromName(`user:${await hashText(user)}`));

/** Ends the object of a user as a crash does, and lets its jobs have been silent for too long. */
async function lose(user: string): Promise<void> {
  // workerd itself ends if an object is aborted while its streams are canceled
  await new Promise((resolve) => setTimeout(resolve, 50));
  const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
  await runInDurableObject(await openObject(user), abort).catch(() => {});
  await runInDurableObject(await openObject(user), (_, { storage }) => {
    storage.sql.exec("UPDATE jobs SET alive_until = 0 WHERE expires_at IS NULL");
  });
}

test("no order of faults, silences, readers, repeats, stops and crashes in a Durable Object loses an event, reports a wrong end, or leaves a slot or a reservation (case 119)", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  for (let run = 0; run < countRuns(8, 0.1); run += 1) {
    const random = openRandom(SEED + run);
    const orders = openOrderGateway(random);
    gateway.respondWith((request) => orders.respond(request));
    const user = `orders-${run}`;
    await runOrder(random, orders, {
      user,
      jobs,
      send: (request) => proxy.fetch(request, env as unknown as StoredEnv) as Promise<Response>,
      lose: () => lose(user),
      async passTime() {
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
        await runDurableObjectAlarm(await openObject(user));
      },
    }).catch((error: Error) => {
      error.message = `seed ${SEED + run}: ${error.message}`;
      throw error;
    });
    vi.useRealTimers();
  }
});
