import { budget, fileStore, idempotency, resumableStreams, videoWatch } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createProxy, images, type JobEvent, type ProxyEvent, type RequestEvent } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";

const NO_COUNTS = [Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY, "5"];
const NEVER = Number.MAX_SAFE_INTEGER;
const limits = { user: 1 };
const store = { bucket: () => undefined, secret: () => "0123456789abcdef0123456789abcdef" };

test.each([
  ...["idleTimeoutMs", "retentionMs", "maxBytes", "maxPerUser"].map(
    (name) => [name, resumableStreams] as const,
  ),
  ...["retentionMs", "maxBytes", "maxPerUser"].map((name) => [name, idempotency] as const),
])("%s of %o has to be a whole number from 1 up", (name, create) => {
  for (const value of NO_COUNTS)
    expect(() => create({ [name]: value } as object)).toThrow(new RegExp(`^${name}: give`));
  expect(() => create({ [name]: 1 })).not.toThrow();
});

test.each([
  ["windowMs", () => budget({ limits, windowMs: NEVER })],
  ["reservationTtlMs", () => budget({ limits, windowMs: 1000, reservationTtlMs: NEVER })],
  ["retentionMs", () => videoWatch({ retentionMs: NEVER })],
  ["retentionMs", () => fileStore({ ...store, retentionMs: NEVER })],
  ["linkTtlMs", () => fileStore({ ...store, linkTtlMs: NEVER })],
  ["retentionMs", () => fileStore({ ...store, archive: { retentionMs: NEVER } })],
])("%s that ends at a time no row can hold is refused: %#", (name, create) => {
  expect(create).toThrow(new RegExp(`${name}: .*100 years`));
});

test("an option that resumableStreams or idempotency does not have is refused", () => {
  expect(() => resumableStreams({ maxPerKey: 5 } as never)).toThrow(
    "maxPerKey: is not an option of resumableStreams",
  );
  expect(() => idempotency({ maxPerKey: 5 } as never)).toThrow("maxPerKey: is not an option of idempotency");
});

test("intervalMs of videoWatch has to be a whole number from 2,000 to 60,000", () => {
  for (const intervalMs of [...NO_COUNTS, 1999, 2000.5, 60_001])
    expect(() => videoWatch({ intervalMs } as object)).toThrow(/intervalMs: /);
  for (const intervalMs of [2000, 60_000]) expect(() => videoWatch({ intervalMs })).not.toThrow();
});

test("one handler of events gets those of requests and those of jobs", async () => {
  const events: ProxyEvent[] = [];
  const onEvent = (event: ProxyEvent) => {
    if (event.type === "request") expectTypeOf(event).toExtend<RequestEvent>();
    else expectTypeOf(event).toExtend<JobEvent>();
    events.push(event);
  };
  const host = nodeHost({ file: ":memory:", env: {} });
  onTestFinished(() => host.close(100));
  const proxy = createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: () => ({ id: "ann" }),
    origins: [],
    models: ["gamma-image-5-0-260128"],
    routes: [images],
    fetch: async () => Response.json({ data: [] }),
    host,
    plugins: [idempotency(), definePlugin({ onEvent })],
  });
  const response = await proxy.fetch(
    new Request("https://proxy.example/v1/images/generations", {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "one" },
      body: JSON.stringify({ model: "gamma-image-5-0-260128", prompt: "a bird" }),
    }),
    {},
  );
  expect(response.status).toBe(200);
  expect(events.map((event) => (event.type === "job" ? event.job : event.type)).sort()).toEqual([
    "create",
    "request",
  ]);
});
