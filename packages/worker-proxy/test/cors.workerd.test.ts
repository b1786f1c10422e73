import { health } from "@sluice/worker-proxy";
import { expect, test, vi } from "vitest";
import { chat, createRequest, openProxy } from "./support/in-process.js";

const origin = "https://app.example";
const preflight = (from: string, path = "/v1/chat/completions") =>
  createRequest({
    method: "OPTIONS",
    path,
    headers: {
      origin: from,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type, x-stainless-os",
    },
  });

test("an allowed origin is echoed exactly, on responses and on refusals (case 17)", async () => {
  const { call } = openProxy();
  for (const [path, status] of [
    ["/v1/chat/completions", 200],
    ["/v1/models", 404],
  ] as const) {
    const response = await call(createRequest({ path, headers: { origin } }));
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("vary")).toBe("Origin");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  }
});

test("a preflight gets 204 without authentication (case 17)", async () => {
  const { reached, call } = openProxy({
    authenticate: () => {
      throw new Error("must not be asked");
    },
  });
  const { status, headers } = await call(preflight(origin));
  expect(status).toBe(204);
  expect(headers.get("access-control-allow-origin")).toBe(origin);
  expect(headers.get("access-control-allow-methods")).toBe("POST");
  expect(headers.get("access-control-allow-headers")).toBe("authorization, content-type, x-stainless-os");
  expect(Number(headers.get("access-control-max-age"))).toBeGreaterThan(0);
  expect(headers.get("vary")).toBe("Origin");
  expect(reached).toEqual([]);
});

test("a preflight of an unknown path succeeds, so that the page can read the refusal", async () => {
  const { reached, call } = openProxy();
  for (const path of ["/v1/models", "/v1/images/generations", "/v1/chat/completions?x=1"]) {
    const { status, headers } = await call(preflight(origin, path));
    expect([status, headers.get("access-control-allow-origin")]).toEqual([204, origin]);
    expect(headers.get("access-control-allow-methods")).toContain("POST");
  }
  expect(reached).toEqual([]);
});

test.each<
  [status: number, request: Parameters<typeof createRequest>[0], options: Parameters<typeof openProxy>[0]]
>([
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
  const { call } = openProxy(options);
  const response = await call(createRequest({ ...request, headers: { origin, ...request?.headers } }));
  expect(response.status).toBe(status);
  expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  expect(response.error?.["message"]).toEqual(expect.any(String));
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
])("the origin %j is refused with 403, for requests and preflights (case 18)", async (from) => {
  const { reached, call } = openProxy();
  for (const request of [createRequest({ headers: { origin: from } }), preflight(from)]) {
    const { status, headers } = await call(request);
    expect(status).toBe(403);
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(headers.get("vary")).toBe("Origin");
  }
  expect(reached).toEqual([]);
});

test("refuses a cross-site request of a browser without an origin (case 19)", async () => {
  const { reached, call } = openProxy({ plugins: [health()] });
  const from = (site: string) => call(createRequest({ headers: { "sec-fetch-site": site } }));
  expect(await from("cross-site")).toMatchObject({ status: 403, error: { code: "origin_not_allowed" } });
  expect(reached).toEqual([]);
  for (const site of ["same-origin", "same-site", "none"]) expect((await from(site)).status).toBe(200);
  // an `<img>` of another site sends no origin, and can only read
  const image = createRequest({
    method: "GET",
    path: "/health",
    headers: { "sec-fetch-site": "cross-site" },
  });
  expect((await call(image)).status).toBe(200);
});

test("a request without an origin is judged by authentication alone (case 19)", async () => {
  const { reached, call } = openProxy();
  expect((await call(createRequest({ headers: { authorization: "Bearer nobody" } }))).status).toBe(401);
  expect(reached).toEqual([]);
  expect((await call(createRequest())).status).toBe(200);
});

test.each([
  "text/plain",
  "text/plain;application/json",
  "application/x-www-form-urlencoded",
  "",
  "application/jsonx",
])(
  "JSON that calls itself %j, as a page may send it unasked, is refused with 415 (case 20)",
  async (type) => {
    const { reached, call } = openProxy();
    expect((await call(createRequest({ headers: { "content-type": type } }))).status).toBe(415);
    expect(reached).toEqual([]);
  },
);

test("pages may send cookies only with `credentials`", async () => {
  const { call } = openProxy({ credentials: true });
  const { headers } = await call(createRequest({ headers: { origin } }));
  expect(headers.get("access-control-allow-credentials")).toBe("true");
  const stranger = await call(createRequest({ headers: { origin: "https://evil.example" } }));
  expect(stranger.headers.get("access-control-allow-credentials")).toBeNull();
});
