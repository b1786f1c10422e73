import { afterAll, beforeAll, expect, test } from "vitest";
import { startProxy } from "./support/harness.js";
import { signId } from "./support/sign.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({ options: { routes: ["chat", "videos"] }, requestsPerMinute: 2 });
});
afterAll(() => proxy.close());

test("the platform's limiter bounds a user's requests, except polls (case 35)", async () => {
  const statuses: number[] = [];
  // the next minute may begin between two of these requests: then two counts of two are correct
  for (let n = 0; n < 5; n += 1) {
    const { status, headers } = await proxy.call();
    statuses.push(status);
    expect(headers.get("retry-after")).toBe(status === 429 ? "60" : null);
  }
  expect(statuses.slice(0, 2)).toEqual([200, 200]);
  expect(statuses).toContain(429);
  const passed = statuses.filter((status) => status === 200);
  expect(proxy.upstream.requests).toHaveLength(passed.length);

  const poll = () =>
    proxy.call(undefined, { method: "GET", body: null }, `/v1/video/generations/${signId("t-1")}`);
  for (let n = 0; n < 3; n += 1) expect((await poll()).status).toBe(200);
});
