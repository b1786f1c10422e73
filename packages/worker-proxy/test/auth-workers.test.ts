import { afterEach, beforeEach, expect, test } from "vitest";
import { startGuardedProxy } from "./support/auth-workerd.js";
import { reply } from "./support/upstream.js";

let proxy: Awaited<ReturnType<typeof startGuardedProxy>>;
beforeEach(async () => {
  proxy = await startGuardedProxy();
});
afterEach(() => proxy.close());
const times = (count: number) => Array.from({ length: count });
const countKeyRequests = () => proxy.paths().filter((path) => path === "/jwks").length;

test("simultaneous requests in workerd share one fetch of the keys (case 32)", async () => {
  expect(await Promise.all(times(20).map(() => proxy.sendAndReadStatus()))).toEqual(times(20).fill(200));
  expect(await proxy.sendAndReadStatus()).toBe(200);
  expect(countKeyRequests()).toBe(1);
});

test("a redirect to other keys is not followed in workerd (case 33)", async () => {
  proxy.respondWithKeys((response, { url }) =>
    url === "/jwks"
      ? reply(302, { location: "/elsewhere" })(response, {} as never)
      : proxy.giveKeys(response, {} as never),
  );
  expect([await proxy.sendAndReadStatus(), await proxy.sendAndReadStatus()]).toEqual([503, 503]);
  expect(proxy.paths()).toEqual(["/jwks"]);
});

test("A client of workerd that leaves while its request fetches the keys does not block others", async () => {
  proxy.respondWithKeys(() => {});
  const leaving = new AbortController();
  const left = proxy.sendAndReadStatus({ signal: leaving.signal }).catch(() => "left");
  await proxy.arrived();
  proxy.respondWithKeys();
  const others = times(5).map(() => proxy.sendAndReadStatus());
  leaving.abort();
  expect(await left).toBe("left");
  expect(await Promise.all(others)).toEqual(times(5).fill(200));
});
