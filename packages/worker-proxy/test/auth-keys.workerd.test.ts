import { jwt } from "@sluice/worker-proxy/auth";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AUDIENCE, ISSUER, type Issuer, JWKS, openIssuer } from "./support/auth-issuer.js";
import { checkFailed, expectNoPart, openAuthProxy, recordLog, rejected } from "./support/auth-proxy.js";
import { createRequest } from "./support/in-process.js";

const accepted = [200, "user-1"];
let issuer: Issuer;
let authProxy: ReturnType<typeof openAuthProxy>;
let log: string[];
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  log = recordLog();
  issuer = await openIssuer();
  authProxy = openAuthProxy(jwt({ jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("the issuer's keys", () => {
  test("are fetched for the first token that needs them, and cached for ten minutes", async () => {
    expect(await authProxy.sendToken("no.to.ken")).toEqual(rejected);
    expect(await authProxy.sendRequest()).toEqual(rejected);
    expect(issuer.keyRequests).toHaveLength(0);
    for (const ms of [0, 0, 599_000]) {
      await wait(ms);
      expect(await authProxy.sendToken(await issuer.token())).toEqual(accepted);
    }
    expect(issuer.keyRequests.map(({ url }) => url)).toEqual([JWKS]);
    await wait(1000);
    expect(await authProxy.sendToken(await issuer.token())).toEqual(accepted);
    expect(issuer.keyRequests).toHaveLength(2);
  });

  test("are fetched once for any number of tokens at the same time (case 32)", async () => {
    const token = await issuer.token();
    const all = await Promise.all(Array.from({ length: 20 }, () => authProxy.sendToken(token)));
    expect(issuer.keyRequests).toHaveLength(1);
    expect(all).toEqual(Array.from({ length: 20 }, () => accepted));
  });

  test("are fetched once per cool-down in a flood of unknown `kid`s, which are refused (case 32)", async () => {
    const stranger = await openIssuer();
    const flood = () =>
      Promise.all(
        Array.from({ length: 20 }, async (_, at) =>
          authProxy.sendToken(await stranger.token({ header: { kid: `x${at}` } })),
        ),
      );
    for (const [ms, times] of [
      [0, 1],
      [1000, 2],
      [29_000, 2],
      [1000, 3],
      [29_000, 3],
      [1000, 4],
    ] as const) {
      await wait(ms);
      expect(await flood()).toEqual(Array.from({ length: 20 }, () => rejected));
      expect(issuer.keyRequests).toHaveLength(times);
    }
    expect(await authProxy.sendToken(await issuer.token())).toEqual(accepted);
  });

  test("after a rotation the new key is found, and the old key still counts", async () => {
    const old = await issuer.token();
    expect(await authProxy.sendToken(old)).toEqual(accepted);
    await wait(1000);
    await issuer.rotate();
    const fresh = await issuer.token();
    expect(await authProxy.sendToken(fresh)).toEqual(accepted);
    expect(await authProxy.sendToken(old)).toEqual(accepted);
    expect(issuer.keyRequests).toHaveLength(2);
  });

  test("are searched again half a minute after a search in vain: the new one may be published late", async () => {
    expect(await authProxy.sendToken(await issuer.token())).toEqual(accepted);
    await wait(1000);
    const published = issuer.keys();
    issuer.respondWith(() => Response.json({ keys: published }));
    await issuer.rotate();
    const fresh = await issuer.token();
    expect(await authProxy.sendToken(fresh)).toEqual(rejected);
    issuer.respondWith();
    await wait(29_000);
    expect(await authProxy.sendToken(fresh)).toEqual(rejected);
    await wait(1000);
    expect(await authProxy.sendToken(fresh)).toEqual(accepted);
    expect(issuer.keyRequests).toHaveLength(3);
  });

  test("are searched again where the search failed: a fault of a moment refuses no new key for long", async () => {
    expect(await authProxy.sendToken(await issuer.token())).toEqual(accepted);
    await wait(1000);
    await issuer.rotate();
    const fresh = await issuer.token();
    issuer.respondWith(() => new Response("", { status: 500 }));
    expect(await authProxy.sendToken(fresh)).toEqual(checkFailed);
    issuer.respondWith();
    await wait(5000);
    expect(await authProxy.sendToken(fresh)).toEqual(accepted);
  });

  test("with two keys, a token without a `kid` is refused (case 32)", async () => {
    const nameless = await issuer.token({ header: { kid: undefined } });
    expect(await authProxy.sendToken(nameless)).toEqual(accepted);
    await issuer.rotate();
    await wait(600_000);
    expect(await authProxy.sendToken(nameless)).toEqual(rejected);
  });

  test("leave no timer behind, for one request or for several", async () => {
    const token = await issuer.token();
    await Promise.all([authProxy.sendToken(token), authProxy.sendToken(token)]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("are rejected ten minutes after their withdrawal (case 32)", async () => {
    const old = await issuer.token();
    expect(await authProxy.sendToken(old)).toEqual(accepted);
    await issuer.rotate();
    issuer.respondWith(() => Response.json({ keys: issuer.keys().slice(1) }));
    await wait(600_000);
    expect(await authProxy.sendToken(old)).toEqual(rejected);
  });

  test("can be of an address in the environment", async () => {
    const options = { issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch };
    const authenticate = jwt<{ at: string }>({ ...options, jwks: ({ at }) => at });
    const request = createRequest({ headers: { authorization: `Bearer ${await issuer.token()}` } });
    for (const at of ["https://a.example/", "https://a.example/", "https://b.example/"])
      expect(await authenticate(request, { at })).toEqual({ id: "user-1" });
    expect(issuer.keyRequests.map(({ url }) => url)).toEqual(["https://a.example/", "https://b.example/"]);
    const refused = {
      message: expect.stringContaining("try again"),
      details: { problem: "jwks: is not a URL" },
    };
    await expect(authenticate(request, { at: "" })).rejects.toMatchObject(refused);
  });
});

describe("every token is refused, and the log has the cause, when the keys' address (case 33)", () => {
  test.each([
    ["can't be reached", () => Promise.reject(new TypeError("fetch failed")), /could not be fetched/],
    ["fails", () => new Response("", { status: 500 }), /500/],
    ["redirects", () => Response.redirect("https://evil.example/jwks", 302), /302/],
    ["gives a page", () => new Response("<!doctype html>"), /not a JSON Web Key Set/],
    ["gives other JSON", () => Response.json({ keys: 7 }), /not a JSON Web Key Set/],
    [
      "gives too much",
      () => Response.json({ keys: [], more: "x".repeat(300_000) }),
      /not a JSON Web Key Set/,
    ],
  ])("%s", async (_, respond, problem) => {
    issuer.respondWith(respond);
    const token = await issuer.token();
    for (let times = 0; times < 3; times += 1) expect(await authProxy.sendToken(token)).toEqual(checkFailed);
    expect(issuer.keyRequests).toHaveLength(1);
    expect(issuer.keyRequests[0]?.redirect).toBe("manual");
    expect(log).toEqual(Array(3).fill(expect.stringMatching(problem)));
    expectNoPart(token, log.join());

    issuer.respondWith();
    await wait(4000);
    expect(await authProxy.sendToken(token)).toEqual(checkFailed);
    await wait(1000);
    expect(await authProxy.sendToken(token)).toEqual(accepted);
  });

  test("is silent, or stops in the middle: the connection is closed after five seconds", async () => {
    const cancel = vi.fn();
    const half = new ReadableStream({ start: (it) => it.enqueue(new Uint8Array(1)), cancel });
    for (const respond of [() => new Promise<Response>(() => {}), () => new Response(half)]) {
      issuer.respondWith(respond);
      issuer.keyRequests.length = 0;
      const sendRequest = authProxy.sendToken(await issuer.token());
      while (issuer.keyRequests.length === 0) await wait(0);
      await wait(5000);
      expect(await sendRequest).toEqual(checkFailed);
      expect(issuer.keyRequests[0]?.signal.aborted).toBe(true);
      await wait(5000);
    }
    expect(cancel).toHaveBeenCalledOnce();
  });

  test("gives a key that can't be used", async () => {
    const [jwk] = issuer.keys();
    issuer.respondWith(() => Response.json({ keys: [{ ...jwk, n: "AQAB" }] }));
    const token = await issuer.token();
    expect(await authProxy.sendToken(token)).toEqual(checkFailed);
    expect(log).toEqual([
      expect.stringContaining("authenticate failed: a key can't be used to check tokens"),
    ]);
  });
});

test("known keys work for ten minutes while their address fails, and an unknown key is not a 401 (case 33)", async () => {
  const known = await issuer.token();
  expect(await authProxy.sendToken(known)).toEqual(accepted);
  issuer.respondWith(() => new Response("", { status: 503 }));
  await issuer.rotate();
  const unknown = await issuer.token();
  await wait(30_000);
  expect(await authProxy.sendToken(unknown)).toEqual(checkFailed);
  expect(await authProxy.sendToken(known)).toEqual(accepted);
  await wait(570_000);
  expect(await authProxy.sendToken(known)).toEqual(checkFailed);
});

test("a request whose fetch of the keys hangs delays other requests by a second", async () => {
  issuer.respondWith(() => new Promise(() => {}));
  const token = await issuer.token();
  const first = authProxy.sendToken(token);
  while (issuer.keyRequests.length === 0) await wait(0);
  issuer.respondWith();
  const second = authProxy.sendToken(token);
  await wait(999);
  expect(issuer.keyRequests).toHaveLength(1);
  await wait(1);
  expect(await second).toEqual(accepted);
  expect(issuer.keyRequests).toHaveLength(2);
  await wait(4000);
  expect(await first).toEqual(checkFailed);
  expect(await authProxy.sendToken(token)).toEqual(accepted);
});
