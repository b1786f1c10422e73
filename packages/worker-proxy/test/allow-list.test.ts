import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "./support/bundle.js";
import { KEY, read } from "./support/key.js";
import { startMiniflare } from "./support/miniflare.js";
import { startUpstream } from "./support/upstream.js";

let upstream: Awaited<ReturnType<typeof startUpstream>>;
let miniflare: ReturnType<typeof startMiniflare>;
let url: URL;
const logs: string[] = [];
beforeAll(async () => {
  upstream = await startUpstream();
  miniflare = startMiniflare({
    handleStructuredLogs: ({ message }: { message: string }) => logs.push(message),
    workers: [
      {
        name: "worker",
        modules: [
          {
            type: "ESModule",
            path: "worker.js",
            contents: await bundle("worker-proxy/test/fixture/allow-list.ts"),
          },
        ],
        compatibilityDate: "2026-10-01",
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
        kvNamespaces: ["SETTINGS"],
        bindings: { UPSTREAM: upstream.url, GATEWAY_API_KEY: KEY },
      },
    ],
  });
  await miniflare.ready;
  url = await miniflare.unsafeGetDirectURL("worker");
});
afterAll(async () => {
  await miniflare.dispose();
  upstream.close();
});

const put = (name: string, value: unknown) =>
  fetch(new URL(`/settings/${name}`, url), { method: "PUT", body: JSON.stringify(value) });
const call = async (body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(new URL("/v1/chat/completions", url), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...body }),
  });
  const { status, error } = await read(response);
  return error?.["code"] ?? status;
};
const health = async () => (await fetch(new URL("/health", url))).status;

test("addresses, models and caps in a KV hold from the next request on, without a deploy", async () => {
  expect([await call({ model: "delta-5.3" }), await health()]).toEqual(["misconfigured", 500]);
  await put("gateway", upstream.url);
  await put("origins", ["https://app.example"]);
  await put("models", ["delta-5.3"]);
  expect([await call({ model: "delta-5.3" }), await health()]).toEqual([200, 200]);
  expect(await call({ model: "alpha-v4.1-flash" })).toBe("model_not_allowed");

  await put("models", { "alpha-v4.1-flash": { max_tokens: 50 } });
  expect(await call({ model: "delta-5.3" })).toBe("model_not_allowed");
  expect(await call({ model: "alpha-v4.1-flash" })).toBe(200);
  expect(JSON.parse(upstream.requests.at(-1)?.body ?? "")).toMatchObject({ max_tokens: 50 });
  expect(await call({ model: "alpha-v4.1-flash", max_tokens: 51 })).toBe("limit_exceeded");

  const page = { origin: "https://other.example" };
  expect(await call({ model: "alpha-v4.1-flash" }, page)).toBe("origin_not_allowed");
  await put("origins", ["https://other.example"]);
  expect(await call({ model: "alpha-v4.1-flash" }, page)).toBe(200);
});

test("A wrong value in the KV closes the proxy, and the log names it", async () => {
  logs.length = 0;
  for (const [name, value] of [
    ["models", { "delta-5.3": { max_tokens: "many" } }],
    ["gateway", "http://gateway.example"],
    ["origins", ["*"]],
  ] as const) {
    await put(name, value);
    expect(await call({ model: "delta-5.3" })).toBe("misconfigured");
    expect(await health()).toBeGreaterThanOrEqual(500);
  }
  expect(logs.join("\n")).toMatch(/models: delta-5\.3: max_tokens: give the most/);
});
