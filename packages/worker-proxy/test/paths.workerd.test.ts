import { expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";

expectLog("there is nothing at this path");

/** As a host gives it that keeps the target as it came: `new Request` would normalise it. */
function written(target: string): Request {
  return Object.defineProperty(createRequest(), "url", { value: `https://proxy.example${target}` });
}

test.each([
  ["case 1: dots that lead back to a listed path", "/v1/x/../chat/completions"],
  ["case 1: encoded dots that lead back to a listed path", "/v1/x/%2e%2e/chat/completions"],
  ["case 1: dots that lead away", "/v1/chat/completions/../../../admin"],
  ["case 2: another host", "//evil.example/v1/chat/completions"],
  ["case 5: backslashes", "/v1\\chat\\completions"],
  ["case 5: a backslash that ends the host", "\\evil/v1/chat/completions"],
  ["case 6: a line break that parsing would drop", "/v1/chat/\ncompletions"],
  ["case 6: a tab that parsing would drop", "/v1/chat/comp\tletions"],
  ["case 6: a fragment", "/v1/chat/completions#x"],
  ["case 7: a fullwidth letter", "/v1/\uff43hat/completions"],
  ["a space at the end that parsing would drop", "/v1/chat/completions "],
])("a path that parsing would change gets 404: %s", async (_, target) => {
  const { reached, call } = openProxy();
  const { status, error } = await call(written(target));
  expect([status, error?.["code"]]).toEqual([404, "not_found"]);
  expect(reached).toEqual([]);
});

test("an address that can't be read gets 404", async () => {
  const { call } = openProxy();
  const request = Object.defineProperty(createRequest(), "url", { value: "/v1/chat/completions" });
  const { status, error } = await call(request);
  expect([status, error?.["code"]]).toEqual([404, "not_found"]);
});

test("case 9: a query that parsing would change is refused with 400", async () => {
  const { reached, call } = openProxy();
  expect((await call(written("/v1/chat/completions?'\""))).status).toBe(400);
  expect(reached).toEqual([]);
});

test("The gateway's paths begin behind a base path and nowhere else", async () => {
  const { reached, call } = openProxy({ basePath: "/api" });
  expect((await call(createRequest({ path: "/api/v1/chat/completions" }))).status).toBe(200);
  for (const path of ["/v1/chat/completions", "/apiv1/chat/completions", "/api/api/v1/chat/completions"])
    expect((await call(createRequest({ path }))).status).toBe(404);
  expect(reached.map(({ url }) => url)).toEqual(["https://gateway.example/v1/chat/completions"]);
});

test("tasks and assets are off by default", async () => {
  const { reached, call } = openProxy();
  for (const path of ["/v1/images/generations", "/v1/video/generations", "/gamma/asset/CreateAsset"])
    expect((await call(createRequest({ path }))).status).toBe(404);
  expect((await call(createRequest({ method: "GET", path: "/v1/video/generations/t1" }))).status).toBe(404);
  expect(reached).toEqual([]);
});
