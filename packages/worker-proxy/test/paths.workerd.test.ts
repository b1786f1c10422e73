import { expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";

expectLog("there is nothing at this path");

/** Creates a request with a raw target, as some hosts do. `new Request` would normalize the target. */
function written(target: string): Request {
  return Object.defineProperty(createRequest(), "url", { value: `https://proxy.example${target}` });
}

test.each([
  ["dots that lead back to a listed path (case 1)", "/v1/x/../chat/completions"],
  ["encoded dots that lead back to a listed path (case 1)", "/v1/x/%2e%2e/chat/completions"],
  ["dots that lead away (case 1)", "/v1/chat/completions/../../../admin"],
  ["another host (case 2)", "//evil.example/v1/chat/completions"],
  ["backslashes (case 5)", "/v1\\chat\\completions"],
  ["a backslash that ends the host (case 5)", "\\evil/v1/chat/completions"],
  ["a line break that parsing would drop (case 6)", "/v1/chat/\ncompletions"],
  ["a tab that parsing would drop (case 6)", "/v1/chat/comp\tletions"],
  ["a fragment (case 6)", "/v1/chat/completions#x"],
  ["a fullwidth letter (case 7)", "/v1/\uff43hat/completions"],
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

test("a query that parsing would change is refused with 400 (case 9)", async () => {
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
