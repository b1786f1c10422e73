import { fileStore, videoWatch, type WebhookOptions, webhook } from "@sluice/durable";
import { cloudflareHost, type DurableObjectNamespace } from "@sluice/durable/cloudflare";
import { health as createHealth, type ProxyOptions, workersRateLimit } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRequest, type Env, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";

const health = { method: "GET", path: "/health" } as const;
/** A proxy with `GET /health`. */
const openHealth = ({ plugins = [], ...options }: Partial<ProxyOptions<Env>> = {}) =>
  openProxy({ ...(options as object), plugins: [...plugins, createHealth()] });
/** Headers of a request without a sign-in. */
const signedOut = { headers: { authorization: "" } };

const log = vi.spyOn(console, "error");
beforeEach(() => {
  log.mockImplementation(() => {});
});
afterEach(() => {
  log.mockClear();
});

const readVariable = (env: Env, name: string) => (env as unknown as Record<string, string | undefined>)[name];
const binding = (name: string) => (env: Env) => readVariable(env, name) as never;
const token = { issuer: "https://app.example", audience: "gateway-proxy" };

test("GET /health is 200 without a sign-in if the proxy is configured, and sends nothing to the gateway", async () => {
  const { call, reached, events } = openHealth({
    authenticate: () => {
      throw new Error("must not be asked");
    },
    rateLimit: () => ({ retryAfterMs: 1 }),
  });
  const { status, text, headers } = await call(createRequest({ ...health, ...signedOut }));
  expect([status, text]).toEqual([200, '{"status":"ok"}']);
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
    "no-store",
    "nosniff",
  ]);
  expect(reached).toEqual([]);
  expect(events).toMatchObject([{ route: "health", method: "GET", status: 200 }]);
});

/** A value for any binding that must not be missing. */
const namespace = { get() {}, idFromName() {} } as unknown as DurableObjectNamespace;
const SECRET = `whsec_${btoa("a secret of the app, 32 and more")}`;
const createWebhookOptions = (given: Partial<WebhookOptions<Env>>): Partial<ProxyOptions<Env>> => ({
  host: cloudflareHost(() => namespace),
  plugins: [
    videoWatch<Env>({
      onEnd: [webhook<Env>({ url: () => "https://app.example/hook", secret: () => SECRET, ...given })],
    }),
  ],
});

/** Options with a missing or invalid value in `env`, and the start of the line in the log. */
const unset: readonly [line: string, options: Partial<ProxyOptions<Env>>][] = [
  ["apiKey: is the secret set? Give one key", { apiKey: (env) => readVariable(env, "GATEWAY_API_KEY") }],
  [
    "baseURL: give the gateway's address, https://gateway.example.com, without a name, password",
    { baseURL: (env) => readVariable(env, "GATEWAY_URL") as string },
  ],
  ["baseURL: is the proxy's own address", { baseURL: () => "https://proxy.example" }],
  ["models: give the ids", { models: async () => [] }],
  ["secret: give at least 32", { secret: (env) => readVariable(env, "PROXY_SECRET") }],
  [
    "jwt: secret: is empty",
    { authenticate: jwt<Env>({ ...token, secret: (env) => readVariable(env, "JWT_SECRET") }) },
  ],
  ["jwt: secret: is shorter than 32 bytes", { authenticate: jwt<Env>({ ...token, secret: () => "short" }) }],
  [
    "jwks: is not a URL",
    { authenticate: jwt<Env>({ ...token, jwks: (env) => readVariable(env, "JWKS") as string }) },
  ],
  ["rateLimit: its binding is missing", { rateLimit: workersRateLimit(binding("RATE_LIMITER")) }],
  [
    "rateLimit: polls: its binding is missing",
    {
      rateLimit: workersRateLimit(() => ({ limit: async () => ({ success: true }) }), {
        polls: binding("POLL_LIMITER"),
      }),
    },
  ],
  [
    "cloudflareHost: its binding is missing",
    { host: cloudflareHost(binding("SLUICE")), plugins: [videoWatch<Env>()] },
  ],
  [
    "webhook: url: give a URL, https://",
    createWebhookOptions({ url: (env) => readVariable(env, "WEBHOOK_URL") }),
  ],
  ["webhook: url: must be https", createWebhookOptions({ url: () => "http://app.example/hook" })],
  [
    "webhook: url: must be https, without a name or password",
    createWebhookOptions({ url: () => `https://a:${KEY}@b.example` }),
  ],
  [
    "webhook: secret: give whsec_",
    createWebhookOptions({ secret: (env) => readVariable(env, "WEBHOOK_SECRET") as string }),
  ],
  ["webhook: secret: give whsec_", createWebhookOptions({ secret: () => `whsec_${KEY}` })],
];

test.each(unset)(
  "GET /health is 503 without a reason, and the log has: %s (case 59)",
  async (line, options) => {
    const { call, reached, events } = openHealth({ ...options });
    const { status, text } = await call(createRequest({ ...health, ...signedOut }));
    expect([status, text]).toEqual([503, '{"status":"misconfigured"}']);
    const lines = log.mock.calls.flat().join("\n");
    expect(lines).toContain(`sluice proxy: health: ${line}`);
    expect(lines).not.toContain(KEY);
    expect(reached).toEqual([]);
    expect(events).toMatchObject([{ route: "health", status: 503, outcome: "error" }]);
  },
);

const hosts: readonly [what: string, hosts: unknown, status: number][] = [
  ["a list that is missing", undefined, 503],
  ["an address instead of a host", ["https://cdn.example.com"], 503],
  ["a host with a path", ["cdn.example.com/videos"], 503],
  ["a star within a name", ["cdn.*.example.com"], 503],
  ["an empty text", [""], 503],
  [
    "hosts with a port, with a star and of this machine",
    ["CDN.example.com", "*.example.com", "localhost:8788"],
    200,
  ],
];
test.each(hosts)(
  "a host of the archive is accepted or named in the log: %s (case 59)",
  async (_, list, status) => {
    const { call } = openHealth({
      host: cloudflareHost(() => namespace),
      plugins: [
        fileStore<Env>({
          bucket: () => namespace as never,
          secret: () => "a secret for links, of 32 letters and more",
          archive: { hosts: () => list as readonly string[] },
        }),
      ],
    });
    const response = await call(createRequest({ ...health, ...signedOut }));
    expect(response.status).toBe(status);
    const lines = log.mock.calls
      .flat()
      .filter((line) => line.includes("health: fileStore: archive: hosts: give"));
    expect(lines).toHaveLength(status === 503 ? 1 : 0);
  },
);

test("the log names each missing setting (case 59)", async () => {
  const { call } = openHealth({
    apiKey: (env) => readVariable(env, "GATEWAY_API_KEY"),
    secret: (env) => readVariable(env, "PROXY_SECRET"),
    authenticate: jwt<Env>({ ...token, secret: (env) => readVariable(env, "JWT_SECRET") }),
    rateLimit: workersRateLimit(binding("RATE_LIMITER")),
  });
  expect((await call(createRequest(health))).status).toBe(503);
  const lines = log.mock.calls.flat().join("\n");
  for (const name of ["GATEWAY_API_KEY", "PROXY_SECRET", "JWT_SECRET", "RATE_LIMITER"])
    expect(lines.match(new RegExp(`not set: .*env\\.${name}`, "g"))).toHaveLength(1);
  // a line for each setting, and the line with all names
  expect(log).toHaveBeenCalledTimes(5);
});

test("GET /health is 200 with the same options once all variables are set (case 59)", async () => {
  const { call } = openHealth({
    secret: (env) => readVariable(env, "PROXY_SECRET"),
    authenticate: jwt<Env>({ ...token, secret: async (env) => readVariable(env, "JWT_SECRET") }),
    rateLimit: workersRateLimit(binding("RATE_LIMITER")),
    host: cloudflareHost(binding("SLUICE")),
    plugins: [videoWatch<Env>()],
  });
  const secrets = { PROXY_SECRET: "p".repeat(32), JWT_SECRET: "j".repeat(32) };
  const bindings = { RATE_LIMITER: { limit() {} }, SLUICE: namespace };
  expect((await call(createRequest(health), { KEY, ...secrets, ...bindings } as Env)).status).toBe(200);
  expect(log).not.toHaveBeenCalled();
});

test("GET /health is 404 without the plugin", async () => {
  expect((await openHealth().call(createRequest(health))).status).toBe(200);
  expect((await openProxy().call(createRequest(health))).status).toBe(404);
});

test("/health has only the method GET, and follows the base path", async () => {
  const { call } = openHealth({ basePath: "/api" });
  expect((await call(createRequest({ ...health, path: "/api/health" }))).status).toBe(200);
  expect((await call(createRequest(health))).status).toBe(404);
  const { status, headers } = await call(createRequest({ path: "/api/health" }));
  expect([status, headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
});

test("GET /health is readable only for pages of allowed origins", async () => {
  const { call } = openHealth({});
  const from = (origin: string) => call(createRequest({ ...health, headers: { origin } }));
  expect((await from("https://app.example")).headers.get("access-control-allow-origin")).toBe(
    "https://app.example",
  );
  expect((await from("https://evil.example")).status).toBe(403);
});
