import { createProxy, events } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { createRequest, type Env, openProxy } from "./support/in-process.js";
import { expectNoKey, KEY } from "./support/key.js";

const log = vi.spyOn(console, "error").mockImplementation(() => {});
afterAll(() => log.mockRestore());
afterEach(() => {
  expectNoKey(log.mock.calls.flat().join("\n"));
  log.mockClear();
});

test("createProxy throws without `authenticate`, and the message says what to set", () => {
  expect(() => openProxy({ authenticate: undefined as never })).toThrow(/authenticate: .*"public"/);
});

test("`public` needs no sign-in", async () => {
  const { call } = openProxy({ authenticate: "public" });
  expect((await call(createRequest({ headers: { authorization: "none" } }))).status).toBe(200);
});

test.each([
  ["http (case 47)", { baseURL: "http://gateway.example" }],
  ["a name and a password (case 47)", { baseURL: "https://user:secret@gateway.example" }],
  ["a query (case 47)", { baseURL: "https://gateway.example?a=1" }],
  ["an empty query, which would turn the path into one (case 47)", { baseURL: "https://gateway.example?" }],
  ["a fragment (case 47)", { baseURL: "https://gateway.example#a" }],
  ["no URL (case 47)", { baseURL: "gateway.example" }],
  ["every origin", { origins: ["*"] }],
  ["an origin with a path", { origins: ["https://app.example/"] }],
  ["an origin in capitals", { origins: ["https://App.example"] }],
  ["the origin null", { origins: ["null"] }],
  ["no models", { models: [] }],
  ["a key in the source", { apiKey: KEY as never }],
  ["no routes", { routes: [] }],
  ["a route that is none", { routes: ["admin" as never] }],
  ["a base path that is none", { basePath: "api/" }],
  ["a limit that is no number", { limits: { maxBodyBytes: Number.NaN } }],
  ["a limit that is undefined", { timeout: { chunkMs: undefined as never } }],
  ["a limit of nothing", { timeout: { firstChunkMs: 0 } }],
])("%s is refused when the proxy is made, without saying the value", (_, options) => {
  let error: unknown;
  try {
    openProxy(options);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toMatch(`${Object.keys(options)[0]}`);
  expect(String(error)).not.toMatch(/secret@/);
  expectNoKey(String(error));
});

test("a plugin needs definePlugin, and the refusal says so", () => {
  const options = {
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: "public" as const,
    origins: [],
    models: ["delta-5.3"],
  };
  const onEvent = () => {};
  expect(() => createProxy({ ...options, plugins: [{ onEvent }] })).toThrow(/^plugins: .*definePlugin/);
  const defined = definePlugin({ onEvent });
  expect(() => createProxy({ ...options, plugins: [defined] })).not.toThrow();
  expect(() => createProxy({ ...options, plugins: [onEvent as never] })).toThrow(/^plugins: give a list/);
});

test("`onEvent` must be a function", () => {
  expect(() => events({ onEvent() {} } as never)).toThrow(/^events: give a function/);
});

test.each([
  "https://gateway.example",
  "https://gateway.example/",
  "https://gateway.example/v1",
  "http://127.0.0.1:1/v1/",
])("the base URL %s is taken", async (baseURL) => {
  const { reached, call } = openProxy({ baseURL });
  await call(createRequest());
  expect(reached[0]?.url).toBe(`${new URL(baseURL).origin}/v1/chat/completions`);
});

test.each([
  ["nothing", undefined],
  ["empty", ""],
  ["with a line break", `${KEY}\n`],
  ["with a space", ` ${KEY}`],
  ["in quotes", `"${KEY}"`],
  ["with its scheme", `Bearer ${KEY}`],
  ["with its scheme alone", "bearer"],
  ["with another alphabet", `${KEY}\u00e9`],
])("a key that is %s gives 500, and the log names `apiKey` (case 46)", async (_, key) => {
  const { reached, call } = openProxy();
  const { status, error } = await call(createRequest(), { KEY: key });
  expect([status, error?.["code"]]).toEqual([500, "misconfigured"]);
  expect(log.mock.calls.flat().join()).toMatch(/apiKey: /);
  expect(reached).toEqual([]);
});

test.each([
  ["the proxy's own host (case 47)", { baseURL: () => "https://proxy.example/v1" }],
  ["http (case 47)", { baseURL: () => "http://gateway.example" }],
  ["origins of everybody", { origins: () => ["*"] }],
  ["no models", { models: () => [] }],
  [
    "a key's function that throws it",
    {
      apiKey: (env: Env) => {
        throw new TypeError(`no URL: ${env.KEY}`);
      },
    },
  ],
])("%s from the environment gives 500", async (_, options) => {
  const { reached, call } = openProxy(options);
  const { status, error } = await call(createRequest());
  expect([status, error?.["code"]]).toEqual([500, "misconfigured"]);
  expect(reached).toEqual([]);
});

test("a host without env and context is served too", async () => {
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: "public",
    origins: [],
    models: ["delta-5.3"],
    fetch: async () => Response.json({}),
  });
  expect((await proxy.fetch(createRequest())).status).toBe(200);
});
