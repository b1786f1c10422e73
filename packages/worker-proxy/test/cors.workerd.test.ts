import { health } from "@sluice/worker-proxy";
import { expect, test, vi } from "vitest";
import { asked, chat, openProxy } from "./support/in-process.js";

const origin = "https://app.example";
const preflight = (from: string, path = "/v1/chat/completions") =>
  asked({
    method: "OPTIONS",
    path,
    headers: {
      origin: from,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type, x-stainless-os",
    },
  });

test("case 17: an allowed origin is echoed exactly, on answers and on refusals", async () => {
  const { ask } = openProxy();
  for (const [path, status] of [
    ["/v1/chat/completions", 200],
    ["/v1/models", 404],
  ] as const) {
    const answer = await ask(asked({ path, headers: { origin } }));
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer.headers.get("vary")).toBe("Origin");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  }
});

test("case 17: a preflight is answered with 204 before anybody is authenticated", async () => {
  const { reached, ask } = openProxy({
    authenticate: () => {
      throw new Error("must not be asked");
    },
  });
  const { status, headers } = await ask(preflight(origin));
  expect(status).toBe(204);
  expect(headers.get("access-control-allow-origin")).toBe(origin);
  expect(headers.get("access-control-allow-methods")).toBe("POST");
  expect(headers.get("access-control-allow-headers")).toBe("authorization, content-type, x-stainless-os");
  expect(Number(headers.get("access-control-max-age"))).toBeGreaterThan(0);
  expect(headers.get("vary")).toBe("Origin");
  expect(reached).toEqual([]);
});

test("a preflight of a path that is not served is answered too, so that the page can read the refusal", async () => {
  const { reached, ask } = openProxy();
  for (const path of ["/v1/models", "/v1/images/generations", "/v1/chat/completions?x=1"]) {
    const { status, headers } = await ask(preflight(origin, path));
    expect([status, headers.get("access-control-allow-origin")]).toEqual([204, origin]);
    expect(headers.get("access-control-allow-methods")).toContain("POST");
  }
  expect(reached).toEqual([]);
});

test.each<[status: number, request: Parameters<typeof asked>[0], options: Parameters<typeof openProxy>[0]]>([
  [400, { body: "no JSON" }, {}],
  [400, { path: "/v1/chat/completions?x=1" }, {}],
  [401, { headers: { authorization: "Bearer nobody" } }, {}],
  [403, { body: { model: "delta-9", messages: [] } }, {}],
  [404, { path: "/v1/images/generations" }, {}],
  [405, { method: "GET" }, {}],
  [413, { body: { ...chat, x: "long".repeat(100) } }, { limits: { maxBodyBytes: 100 } }],
  [415, { headers: { "content-type": "text/plain" } }, {}],
  [429, {}, { rateLimit: () => ({ retryAfterMs: 1000 }) }],
  [500, {}, { apiKey: () => "" }],
  [502, {}, { fetch: () => Promise.reject(new TypeError("no route to host")) }],
  [503, {}, { authenticate: () => Promise.reject(new Error("down")) }],
])("a page of a listed origin can read why it is refused: %i", async (status, request, options) => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const { ask } = openProxy(options);
  const answer = await ask(asked({ ...request, headers: { origin, ...request?.headers } }));
  expect(answer.status).toBe(status);
  expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
  expect(answer.error?.["message"]).toEqual(expect.any(String));
});

test.each([
  "https://app.example.evil.com",
  "https://evilapp.example",
  "http://app.example",
  "null",
  "https://APP.example",
  "https://app.example.",
  "https://app.example:8443",
  "https://app.example, https://app.example",
  "*",
  "",
])("case 18: the origin %j is refused with 403, for requests and preflights", async (from) => {
  const { reached, ask } = openProxy();
  for (const request of [asked({ headers: { origin: from } }), preflight(from)]) {
    const { status, headers } = await ask(request);
    expect(status).toBe(403);
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(headers.get("vary")).toBe("Origin");
  }
  expect(reached).toEqual([]);
});

test("case 19: a request that a browser calls cross-site, and whose origin something has removed, is refused", async () => {
  const { reached, ask } = openProxy({ plugins: [health()] });
  const from = (site: string) => ask(asked({ headers: { "sec-fetch-site": site } }));
  expect(await from("cross-site")).toMatchObject({ status: 403, error: { code: "origin_not_allowed" } });
  expect(reached).toEqual([]);
  for (const site of ["same-origin", "same-site", "none"]) expect((await from(site)).status).toBe(200);
  // an image of another site has no origin, and only reads
  const image = asked({ method: "GET", path: "/health", headers: { "sec-fetch-site": "cross-site" } });
  expect((await ask(image)).status).toBe(200);
});

test("case 19: a request without an origin is judged by authentication alone", async () => {
  const { reached, ask } = openProxy();
  expect((await ask(asked({ headers: { authorization: "Bearer nobody" } }))).status).toBe(401);
  expect(reached).toEqual([]);
  expect((await ask(asked())).status).toBe(200);
});

test.each([
  "text/plain",
  "text/plain;application/json",
  "application/x-www-form-urlencoded",
  "",
  "application/jsonx",
])("case 20: JSON that calls itself %j, as a page may send it unasked, is refused with 415", async (type) => {
  const { reached, ask } = openProxy();
  expect((await ask(asked({ headers: { "content-type": type } }))).status).toBe(415);
  expect(reached).toEqual([]);
});

test("pages may send cookies only with `credentials`", async () => {
  const { ask } = openProxy({ credentials: true });
  const { headers } = await ask(asked({ headers: { origin } }));
  expect(headers.get("access-control-allow-credentials")).toBe("true");
  const stranger = await ask(asked({ headers: { origin: "https://evil.example" } }));
  expect(stranger.headers.get("access-control-allow-credentials")).toBeNull();
});
