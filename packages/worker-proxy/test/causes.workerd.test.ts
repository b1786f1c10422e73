import { type ProxyOptions, readStreams, workersRateLimit } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRequest, type Env, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";
import { SECRET } from "./support/sign.js";

const log = vi.spyOn(console, "error");
beforeEach(() => {
  log.mockImplementation(() => {});
});
afterEach(() => {
  log.mockClear();
});
const listLines = () => log.mock.calls.flat() as string[];

function fail(message = "no such table: users"): never {
  throw new TypeError(message);
}
const rejected = async () => fail();

test.each<[name: string, status: number, code: string, options: Partial<ProxyOptions<Env>>]>([
  ["authenticate", 503, "authentication_unavailable", { authenticate: () => fail() }],
  ["authenticate", 503, "authentication_unavailable", { authenticate: rejected }],
  ["rateLimit", 503, "rate_limit_unavailable", { rateLimit: () => fail() }],
  ["rateLimit", 503, "rate_limit_unavailable", { rateLimit: rejected }],
  ["plugins: reserve", 503, "budget_unavailable", { plugins: [{ ...readStreams(), reserve: () => fail() }] }],
  ["plugins: reserve", 503, "budget_unavailable", { plugins: [{ ...readStreams(), reserve: rejected }] }],
  ["mediaURLs", 503, "media_unavailable", { mediaURLs: () => fail() }],
  ["plugins", 503, "plugin_unavailable", { plugins: [{ routes: [], send: rejected }] }],
  ["apiKey", 500, "misconfigured", { apiKey: () => fail() }],
  ["secret", 500, "misconfigured", { secret: rejected }],
  ["baseURL", 500, "misconfigured", { baseURL: rejected }],
  ["origins", 500, "misconfigured", { origins: rejected }],
  ["models", 500, "misconfigured", { models: rejected }],
  ["the connection to the gateway broke off", 502, "upstream_cut", { fetch: rejected }],
])(
  "an error of `%s` is in the log once, and not in the response (%i %s) (case 59)",
  async (name, status, code, options) => {
    const { call, events } = openProxy({ routes: ["chat"], ...options });
    const image = { type: "image_url", image_url: { url: "https://cdn.example/a.png" } };
    const body = { model: "alpha-v4.1-flash", stream: true, messages: [{ role: "user", content: [image] }] };
    const { text, headers, error, ...response } = await call(createRequest({ body }));
    expect([response.status, error?.["code"]]).toEqual([status, code]);
    expect(text + JSON.stringify([...headers])).not.toContain("no such table");
    expect(events).toMatchObject([{ status, code, outcome: "error" }]);
    const [line = "", ...more] = listLines();
    expect(more).toEqual([]);
    expect(line).toContain(
      `sluice proxy: ${status} ${code}, request ${headers.get("x-request-id")}: ${name}`,
    );
    expect(line).toMatch(/TypeError: no such table: users \(at .*fail/);
  },
);

test.each([
  ["the gateway's key", KEY],
  ["the proxy's own secret", SECRET],
  ["the caller's token", "user-token"],
  ["a cookie", "c00kie-of-ann"],
  ["another value of the environment", "pw-of-db"],
  ["a key that nobody told the proxy of", "AKIA4XW2ZP7Q9RT5LM3N"],
  ["a token of three parts", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlMQ"],
])("%s is not in the log, though it is in what was thrown (case 59)", async (_, secret) => {
  const { send } = openProxy({
    secret: () => SECRET,
    authenticate: () => fail(`could not read <${secret}> in\nthe table`),
  });
  const headers = { cookie: "theme=dark; session=c00kie-of-ann" };
  await send(createRequest({ headers }), { KEY, DB_PASSWORD: "pw-of-db" } as Env);
  const [line = ""] = listLines();
  expect(line).toMatch(/authenticate failed: TypeError: could not read <.*> in the table/);
  for (let at = 0; at + 8 <= secret.length; at += 1) expect(line).not.toContain(secret.slice(at, at + 8));
});

test("the log has the causes behind an error, and is bounded (case 59)", async () => {
  const refused = new Error("connect ECONNREFUSED");
  const { call } = openProxy({
    fetch: () => Promise.reject(new TypeError(`fetch failed${"! ".repeat(2000)}`, { cause: refused })),
  });
  await call(createRequest());
  expect(listLines()[0]).toContain("TypeError: fetch failed! !");
  expect(listLines()[0]?.length).toBeLessThan(800);
  log.mockClear();
  const short = openProxy({ fetch: () => Promise.reject(new TypeError("fetch failed", { cause: refused })) });
  await short.call(createRequest());
  expect(listLines()[0]).toMatch(/TypeError: fetch failed .*: Error: connect ECONNREFUSED/);
});

test("the log has the message of a plain object that was thrown, as some database clients throw it (case 59)", async () => {
  const { call } = openProxy({
    authenticate: () => Promise.reject({ code: "42P01", message: "no such table: users" }),
  });
  await call(createRequest());
  expect(listLines()).toEqual([expect.stringMatching(/: authenticate failed: no such table: users$/)]);
});

test("a missing secret of the proxy and a missing one of `jwt` have different lines (case 59)", async () => {
  const from = (env: Env, name: string) => (env as unknown as Record<string, string | undefined>)[name];
  const secret = openProxy({ secret: (env) => from(env, "PROXY_SECRET") });
  await secret.call(createRequest());
  const users = openProxy({
    authenticate: jwt<Env>({ secret: (env) => from(env, "JWT_SECRET"), issuer: "i", audience: "a" }),
  });
  await users.call(createRequest({ headers: { authorization: "Bearer a.b.c" } }));
  expect(listLines()).toEqual([
    expect.stringMatching(/500 misconfigured.*: secret: give at least 32 .*is the secret set\?$/),
    expect.stringMatching(/503 authentication_unavailable.*: jwt: secret: is empty; is the secret set\?$/),
  ]);
});

test("the log names an `authenticate` that reads the body (case 59)", async () => {
  const { call, reached } = openProxy({
    async authenticate(request) {
      await request.text();
      return { id: "user-1" };
    },
  });
  expect(await call(createRequest())).toMatchObject({ status: 500, error: { code: "misconfigured" } });
  expect(listLines()).toEqual([expect.stringContaining("authenticate: must leave the body unread")]);
  expect(reached).toEqual([]);
});

test("a missing RATE_LIMITER names itself (case 59)", async () => {
  const { call } = openProxy({
    rateLimit: workersRateLimit((env: Env) => (env as unknown as { RATE_LIMITER: undefined }).RATE_LIMITER),
  });
  expect((await call(createRequest())).status).toBe(503);
  expect(listLines()).toEqual([
    expect.stringMatching(/rateLimit failed: rateLimit: its binding is missing$/),
  ]);
});

test("a caller's mistake is not in the log (case 59)", async () => {
  const { call } = openProxy();
  await call(createRequest({ headers: { authorization: "none" } }));
  await call(createRequest({ body: "{" }));
  expect(listLines()).toEqual([]);
});
