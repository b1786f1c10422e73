import { expect, onTestFinished, test } from "vitest";
import { startAttacked, VIDEOS } from "./support/attacked.js";
import { json, says } from "./support/raw-gateway.js";
import { signed } from "./support/sign.js";

const task =
  '{"code":"success","message":"","data":{"task_id":"task_1","status":"IN_PROGRESS","progress":"5%"}}';

test("case 57: a thousand polls of a task within a second are a few requests to the gateway", async () => {
  const proxy = await startAttacked({ options: { routes: ["videos"] } });
  onTestFinished(() => proxy.close());
  proxy.upstream.answers(says(json(task)));
  const path = `${VIDEOS}/${signed("task_1", "task", "ada")}`;
  const startedAt = Date.now();
  const polls = Array.from({ length: 20 }, async () => {
    for (let nth = 0; nth < 50; nth += 1) {
      const { status, text } = await proxy.ask("ada", undefined, { path });
      expect(status === 429 || (status === 200 && text.includes("IN_PROGRESS"))).toBe(true);
    }
  });
  await Promise.all(polls);
  const seconds = (Date.now() - startedAt) / 1000;
  expect(proxy.upstream.requests.length).toBeLessThanOrEqual(2 + seconds);
});
