import { expect, test, vi } from "vitest";
import { asked, openProxy } from "./support/in-process.js";

const health = { method: "GET", path: "/health" } as const;
const nobody = { headers: { authorization: "" } };

test("says that the proxy is set up, to anybody, and asks the gateway nothing", async () => {
  const { ask, reached, events } = openProxy({
    routes: ["health"],
    authenticate: () => {
      throw new Error("must not be asked");
    },
    rateLimit: () => ({ retryAfterMs: 1 }),
  });
  const { status, text, headers } = await ask(asked({ ...health, ...nobody }));
  expect([status, text]).toEqual([200, '{"status":"ok"}']);
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
    "no-store",
    "nosniff",
  ]);
  expect(reached).toEqual([]);
  expect(events).toMatchObject([{ route: "health", method: "GET", status: 200 }]);
});

test.each([
  ["no key", { apiKey: () => undefined }],
  ["a gateway that is the proxy itself", { baseURL: () => "https://proxy.example" }],
  ["no models", { models: () => [] }],
  ["a secret that is too short", { secret: () => "short" }],
])("says 500 with %s, and no more", async (_, options) => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const { ask } = openProxy({ routes: ["health"], ...options });
  const { status, error } = await ask(asked(health));
  expect([status, error?.["code"]]).toEqual([500, "misconfigured"]);
  expect(log).toHaveBeenCalledOnce();
  log.mockRestore();
});

test("is off unless it is asked for", async () => {
  expect((await openProxy().ask(asked(health))).status).toBe(404);
});

test("has one method, and the base path before it", async () => {
  const { ask } = openProxy({ routes: ["health"], basePath: "/api" });
  expect((await ask(asked({ ...health, path: "/api/health" }))).status).toBe(200);
  expect((await ask(asked(health))).status).toBe(404);
  const { status, headers } = await ask(asked({ path: "/api/health" }));
  expect([status, headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
});

test("is read by allowed pages alone", async () => {
  const { ask } = openProxy({ routes: ["health"] });
  const from = (origin: string) => ask(asked({ ...health, headers: { origin } }));
  expect((await from("https://app.example")).headers.get("access-control-allow-origin")).toBe(
    "https://app.example",
  );
  expect((await from("https://evil.example")).status).toBe(403);
});
