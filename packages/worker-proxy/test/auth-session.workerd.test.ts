import { jwt } from "@sluice/worker-proxy/auth";
import { decodeJwt } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AUDIENCE, ISSUER, secretToken } from "./support/auth-issuer.js";
import { openVisitors, PAGE, SESSION_SECRET, TOKEN } from "./support/auth-turnstile.js";
import { nobody, openDoor } from "./support/auth-visit.js";
import { expectLog } from "./support/expected-log.js";

expectLog("this page may not call the proxy");

afterEach(() => void vi.useRealTimers());

describe("a session", () => {
  test("is a new, random user's, for an hour", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_500 });
    const { exchanged, authenticate } = openVisitors();
    const { bearer } = openDoor(authenticate);
    const [first, second] = [await exchanged(), await exchanged()];
    expect(first.expiresAt).toBe(1_800_003_600_000);
    const [status, id] = await bearer(first.session);
    expect([status, id]).toEqual([200, expect.stringMatching(/^anon-[\da-f-]{36}$/)]);
    expect(await bearer(first.session)).toEqual([200, id]);
    expect((await bearer(second.session))[1]).not.toBe(id);
    vi.setSystemTime(first.expiresAt + 5000);
    expect(await bearer(first.session)).toEqual(nobody);
  });

  test("has no more claims than it needs", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_500 });
    const { session } = await openVisitors().exchanged();
    expect(decodeJwt(session)).toEqual({
      iss: "sluice:turnstile-session",
      aud: "chat",
      sub: expect.stringMatching(/^anon-/),
      iat: 1_800_000_000,
      exp: 1_800_003_600,
    });
  });

  test("case 32: ends at its `exp`, with 5 seconds for clocks that differ", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { exchanged, authenticate } = openVisitors(undefined, { ttlSeconds: 60 });
    const { bearer } = openDoor(authenticate);
    const { session, expiresAt } = await exchanged();
    vi.setSystemTime(expiresAt + 4000);
    expect((await bearer(session))[0]).toBe(200);
    vi.setSystemTime(expiresAt + 6000);
    expect(await bearer(session)).toEqual(nobody);
  });

  test("case 32: of another secret, or of another action, is refused", async () => {
    const { session } = await openVisitors().exchanged();
    const others = [{ sessionSecret: () => "B".repeat(32) }, { action: "draw" }];
    for (const options of others)
      expect(await openDoor(openVisitors([], options).authenticate).bearer(session)).toEqual(nobody);
    expect((await openDoor(openVisitors().authenticate).bearer(session))[0]).toBe(200);
  });

  test("case 32: is no other token of the same secret, and no other token is one", async () => {
    const { session } = await openVisitors().exchanged();
    const tokens = openDoor(jwt({ secret: () => SESSION_SECRET, issuer: ISSUER, audience: AUDIENCE }));
    const sessions = openDoor(openVisitors().authenticate);
    const token = await secretToken(SESSION_SECRET);
    expect(await tokens.bearer(token)).toEqual([200, "user-1"]);
    expect(await tokens.bearer(session)).toEqual(nobody);
    expect(await sessions.bearer(token)).toEqual(nobody);
    const { iss = "" } = decodeJwt(session);
    expect(await sessions.bearer(await secretToken(SESSION_SECRET, { iss }))).toEqual(nobody);
    expect(await sessions.bearer(await secretToken(SESSION_SECRET, { aud: "chat" }))).toEqual(nobody);
  });

  test("case 32: is not the Turnstile token itself, and not read from a cookie", async () => {
    const { exchanged, authenticate } = openVisitors();
    const { bearer, visit } = openDoor(authenticate);
    const { session } = await exchanged();
    expect(await bearer(TOKEN)).toEqual(nobody);
    expect(await visit({ cookie: `session=${session}` })).toEqual(nobody);
  });
});

describe("the exchange", () => {
  test("case 17: answers a preflight of its pages, and sends nothing", async () => {
    const { exchanged, forms } = openVisitors();
    const headers = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    };
    const answer = await exchanged({ method: "OPTIONS", headers });
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(answer.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(answer.headers.get("access-control-allow-methods")).toBe("POST");
    expect(answer.headers.get("access-control-allow-headers")).toBe("content-type");
    expect(answer.headers.get("vary")).toBe("Origin");
    expect(forms).toEqual([]);
  });

  test.each(["https://evil.example", "http://app.example", "https://app.example.evil.example", "null", ""])(
    "case 18: refuses the page %j with 403, also in a preflight",
    async (origin) => {
      const { exchanged, forms } = openVisitors();
      for (const method of ["POST", "OPTIONS"]) {
        const { status, code, headers } = await exchanged({ method, headers: { origin } });
        expect([status, code]).toEqual([403, "origin_not_allowed"]);
        expect(headers.get("access-control-allow-origin")).toBeNull();
        expect(headers.get("vary")).toBe("Origin");
      }
      expect(forms).toEqual([]);
    },
  );

  test("names an origin that is not listed in the log, once", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { exchanged } = openVisitors();
    for (const method of ["OPTIONS", "POST"])
      await exchanged({ method, headers: { origin: "https://mine.example" } });
    expect(log.mock.calls).toEqual([[expect.stringMatching(/"https:\/\/mine\.example": .* `origins`/)]]);
    log.mockRestore();
  });

  test("case 17: lets its pages read each answer", async () => {
    const { headers } = await openVisitors().exchanged();
    expect(headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test.each(["GET", "PUT", "DELETE", "HEAD"])("case 11: answers %s with 405", async (method) => {
    const { status, headers } = await openVisitors().exchanged({ method });
    expect([status, headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  test("case 11: takes OPTIONS for a preflight only from a page", async () => {
    const request = new Request("https://proxy.example/session", { method: "OPTIONS" });
    expect((await openVisitors().exchange(request, {})).status).toBe(405);
  });

  test.each([
    [415, { token: TOKEN }, { "content-type": "text/plain" }],
    [415, `token=${TOKEN}`, { "content-type": "application/x-www-form-urlencoded" }],
    [400, "", {}],
    [400, "{", {}],
    [400, "null", {}],
    [400, [TOKEN], {}],
    [400, {}, {}],
    [400, { token: "" }, {}],
    [400, { token: 7 }, {}],
    [400, { token: "t".repeat(2049) }, {}],
    [413, { token: "t".repeat(9000) }, {}],
  ])("case 21: answers %d to the body %.30j", async (expected, body, headers) => {
    const { exchanged, forms } = openVisitors();
    const { status, error } = await exchanged({ body, headers });
    expect([status, error?.["type"]]).toEqual([expected, "invalid_request_error"]);
    expect(forms).toEqual([]);
  });

  test("takes a token of 2048 characters", async () => {
    expect((await openVisitors().exchanged({ body: { token: "t".repeat(2048) } })).status).toBe(200);
  });

  test("case 22: waits ten seconds for a body", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    const body = new ReadableStream({ start: (it) => it.enqueue(new TextEncoder().encode('{"token":')) });
    const answer = openVisitors().exchanged({ body });
    await vi.advanceTimersByTimeAsync(10_000);
    const { status, code } = await answer;
    expect([status, code]).toEqual([408, "body_timeout"]);
  });
});
