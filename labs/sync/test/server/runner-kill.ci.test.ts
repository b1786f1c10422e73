import { afterEach, beforeEach, expect, test } from "vitest";
import { begins, openKilledRuns } from "./support/killed-runs.js";

let runs: Awaited<ReturnType<typeof openKilledRuns>>;

beforeEach(async () => {
  runs = await openKilledRuns();
});
afterEach(() => runs.proxy.close());

/** Starts it again; the first request about a conversation continues its turn, before the alarm does. */
async function restart(): Promise<void> {
  await runs.proxy.kill();
  await runs.proxy.start();
  await expect.poll(async () => (await runs.thread()).length, runs.patience).toBeGreaterThan(0);
}

test("case 245: A process that is killed while an answer comes: it is not asked for again, the text stays, and the message says that it may be billed", async () => {
  runs.answers(begins("One"));
  expect((await runs.send()).status).toBe(202);
  await runs.last({ content: "One" });
  await restart();
  await runs.ended();
  const path = await runs.thread();
  expect(path.at(-1)).toMatchObject({ content: "One", error: { message: expect.any(String) } });
  expect(path).toHaveLength(2);
  expect(runs.chats()).toHaveLength(1);
  expect((await runs.send()).status).toBe(202);
  expect(runs.chats()).toHaveLength(1);
});
