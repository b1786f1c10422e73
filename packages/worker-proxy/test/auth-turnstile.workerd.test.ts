import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  bad,
  good,
  openVisitors,
  PAGE,
  SECRET_KEY,
  SESSION_SECRET,
  TOKEN,
} from "./support/auth-turnstile.js";
import { expectNothingOf, listenToLog } from "./support/auth-visit.js";

let log: string[];
beforeEach(() => {
  log = listenToLog();
});
afterEach(() => {
  for (const secret of [SECRET_KEY, SESSION_SECRET, TOKEN]) expectNothingOf(secret, log.join("\n"));
  vi.useRealTimers();
  vi.restoreAllMocks();
});
const down = () => new Response("", { status: 502 });

describe("a Turnstile token", () => {
  test("is exchanged for a session, which nothing on its way keeps", async () => {
    const { exchanged, forms, requests } = openVisitors();
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { status, headers, session, expiresAt } = await exchanged();
    expect([status, session.split(".").length]).toEqual([200, 3]);
    expect(expiresAt).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(expiresAt).toBeLessThanOrEqual(Date.now() + 3_600_000);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("set-cookie")).toBeNull();

    const [request] = requests;
    expect([request?.method, request?.url, request?.redirect]).toEqual([
      "POST",
      "https://challenges.cloudflare.com/turnstile/v0/siteverify",
      "manual",
    ]);
    expect(request?.headers.get("content-type")).toMatch(/^application\/x-www-form-urlencoded/);
    expect(Object.fromEntries(forms[0] ?? [])).toEqual({
      secret: SECRET_KEY,
      response: TOKEN,
      idempotency_key: expect.stringMatching(/^[\da-f-]{36}$/),
    });
  });

  test("is checked with the visitor's address, where it is well-formed", async () => {
    const { exchanged, forms } = openVisitors();
    for (const address of ["203.0.113.7", "2001:db8::7", "203.0.113.7, 10.0.0.1", "x"])
      await exchanged({ headers: { "cf-connecting-ip": address } });
    expect(forms.map((form) => form.get("remoteip"))).toEqual(["203.0.113.7", "2001:db8::7", null, null]);
    expect(new Set(forms.map((form) => form.get("idempotency_key"))).size).toBe(4);
  });

  test.each([
    ["was used before", bad("timeout-or-duplicate"), /used before/],
    ["is none", bad("invalid-input-response"), /is none/],
    ["is refused without a reason", () => Response.json({ success: false }), /refused/],
    ["succeeds in a word only", good({ success: "true" }), /refused/],
    ["is of another action", good({ action: "sign-up" }), /another action/],
    ["is of no action", good({ action: undefined }), /another action/],
    ["is of another page", good({ hostname: "evil.example" }), /another page/],
    ["is of a page below", good({ hostname: "x.app.example" }), /another page/],
    ["is of no page", good({ hostname: undefined }), /another page/],
    ["is too old", good({ challenge_ts: new Date(Date.now() - 301_000).toISOString() }), /too old/],
    ["is of the future", good({ challenge_ts: new Date(Date.now() + 400_000).toISOString() }), /too old/],
    ["is of no time", good({ challenge_ts: undefined }), /too old/],
  ])("case 36: is refused with 403 if it %s", async (_, answer, message) => {
    const { exchanged, forms } = openVisitors([answer]);
    const { status, headers, error } = await exchanged();
    expect([status, error]).toEqual([
      403,
      { type: "permission_error", code: "turnstile_refused", message: expect.stringMatching(message) },
    ]);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(forms).toHaveLength(1);
  });

  test("may be of a page that `hostnames` lists, and then of no other", async () => {
    const options = { hostnames: ["a.example", "b.example"] };
    const answers = ["a.example", "b.example", "app.example"].map((hostname) => good({ hostname }));
    const { exchanged } = openVisitors(answers, options);
    const statuses = [await exchanged(), await exchanged(), await exchanged()].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 403]);
  });

  test("may be as old as `maxAgeSeconds`", async () => {
    const old = (seconds: number) =>
      good({ challenge_ts: new Date(Date.now() - seconds * 1000).toISOString() });
    const { exchanged } = openVisitors([old(25), old(35)], { maxAgeSeconds: 30 });
    expect([(await exchanged()).status, (await exchanged()).status]).toEqual([200, 403]);
  });
});

describe("case 36: when Turnstile gives no verdict", () => {
  test.each([
    ["it fails", () => Response.json({ success: true }, { status: 500 })],
    ["it is down", down],
    ["it has had too many questions", () => new Response("{}", { status: 429 })],
    ["it can't be reached", () => Promise.reject(new TypeError(`fetch failed: ${SECRET_KEY}`))],
    ["it redirects", () => Response.redirect("https://evil.example", 302)],
    ["it gives a page", () => new Response("<!doctype html>")],
    ["it gives nothing", () => Response.json(null)],
    ["it says so itself", bad("internal-error")],
  ])("because %s, the answer is 503 after one more try", async (_, answer) => {
    const { exchanged, forms } = openVisitors([answer]);
    const { status, code } = await exchanged();
    expect([status, code]).toEqual([503, "authentication_unavailable"]);
    expect(forms).toHaveLength(2);
    expect(forms[0]?.get("idempotency_key")).toBe(forms[1]?.get("idempotency_key"));
    expect(log).toEqual([expect.stringContaining("turnstile: siteverify could not be asked")]);
  });

  test("The second try counts where Turnstile gives no verdict at first", async () => {
    const { exchanged } = openVisitors([down, good()]);
    expect((await exchanged()).status).toBe(200);
    const { exchanged: refused } = openVisitors([down, bad("timeout-or-duplicate")]);
    expect((await refused()).status).toBe(403);
  });

  test("because it is silent, the answer is 503 after five seconds for each try", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const { exchanged, requests, forms } = openVisitors([() => new Promise(() => {})]);
    const answer = exchanged();
    for (const tries of [1, 2]) {
      while (forms.length < tries) await vi.advanceTimersByTimeAsync(0);
      await vi.advanceTimersByTimeAsync(5000);
    }
    expect((await answer).status).toBe(503);
    expect(requests.every(({ signal }) => signal.aborted)).toBe(true);
  });

  test.each(["invalid-input-secret", "missing-input-secret"])(
    "because of our key (%s), it is 500",
    async (code) => {
      const { exchanged } = openVisitors([bad(code)]);
      expect((await exchanged()).code).toBe("misconfigured");
      expect(log).toEqual([expect.stringContaining("secretKey: Turnstile does not know it")]);
    },
  );
});

test.each([
  ["sessionSecret", { sessionSecret: () => SESSION_SECRET.slice(1) }],
  ["sessionSecret", { sessionSecret: () => undefined }],
  ["secretKey", { secretKey: () => "" }],
  ["secretKey", { secretKey: () => Promise.reject(new Error(SECRET_KEY)) }],
])("case 33: without a good %s nothing is asked: a token is not spent for nothing", async (name, options) => {
  const { exchanged, forms } = openVisitors([good()], options);
  expect((await exchanged()).status).toBe(503);
  expect(forms).toEqual([]);
  expect(log).toEqual([
    expect.stringContaining(`503 authentication_unavailable: turnstileSession: ${name}: `),
  ]);
});
