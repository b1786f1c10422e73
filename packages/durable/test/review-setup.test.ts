import { admin, idempotency, resumableStreams } from "@sluice/durable";
import { cloudflareHost } from "@sluice/durable/cloudflare";
import { nodeHost } from "@sluice/durable/node";
import { createProxy, type Host, type ProxyPlugin } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";

function openProxy(host: Host<unknown>, plugins: readonly ProxyPlugin<unknown>[]) {
  return createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: () => ({ id: "ann" }),
    origins: [],
    models: ["delta-5.3"],
    host,
    plugins: [...plugins],
  });
}

function openHost() {
  const host = nodeHost({ file: ":memory:", env: {} });
  onTestFinished(() => host.close(100));
  return host;
}

test.each([
  ["resumableStreams", () => resumableStreams()],
  ["idempotency", () => idempotency()],
] as const)("%s of one proxy is refused by another one, whose gateway it would ask", (_, create) => {
  const plugin = create();
  openProxy(openHost(), [plugin]);
  expect(() => openProxy(openHost(), [plugin])).toThrow(/belongs to one proxy/);
});

test("a plugin that is listed twice is refused", () => {
  const plugin = resumableStreams();
  expect(() => openProxy(openHost(), [plugin, plugin])).toThrow(/belongs to one proxy/);
});

test("a cloudflareHost of one proxy is refused by another one, whose objects would ask another gateway", () => {
  const host = cloudflareHost(() => ({
    idFromName: () => "",
    get: () => ({ fetch: () => new Promise(() => {}) }),
  }));
  openProxy(host, [resumableStreams()]);
  expect(() => openProxy(host, [resumableStreams()])).toThrow(/host: belongs to one proxy/);
});

test("admin without a plugin that stores data is refused", () => {
  expect(() => openProxy(openHost(), [admin({ isOperator: () => true })])).toThrow(/^admin: no other plugin/);
});

test("an option that resumableStreams or idempotency does not have is refused", () => {
  expect(() => resumableStreams({ maxPerKey: 5 } as never)).toThrow(
    "maxPerKey: is no option of resumableStreams",
  );
  expect(() => idempotency({ maxPerKey: 5 } as never)).toThrow("maxPerKey: is no option of idempotency");
  expect(() => idempotency({ maxPerUser: 0 })).toThrow("maxPerUser: give a whole number");
});

test("a host that is no host is refused by its name", () => {
  expect(() => openProxy(nodeHost as never, [resumableStreams()])).toThrow(/^host: give what/);
});
