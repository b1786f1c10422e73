import { budget, idempotency, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import type { BoundHost } from "@sluice/worker-proxy/plugin";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  end,
  openGateway,
  openMeter,
  openStoredProxy,
  piece,
  silenceLog,
  usage,
} from "./support/stored-proxy.js";

/** Creates a host that runs `fail` for the first call of a method, and the method for later calls. */
function openFailingHost<Name extends "run" | "start" | "open">(name: Name, fail: BoundHost[Name]) {
  const host = nodeHost({ file: ":memory:", env: {} });
  let calls = 0;
  return {
    ...host,
    open(setup: Parameters<typeof host.open>[0]) {
      const bind = host.open(setup);
      const bound = bind({});
      const call = bound[name] as (...given: unknown[]) => unknown;
      bound[name] = ((...given: unknown[]) => {
        calls += 1;
        return calls > 1 ? call(...given) : (fail as typeof call).call({ ...bound, [name]: call }, ...given);
      }) as BoundHost[Name];
      return bind;
    },
  };
}

const image = () => Response.json({ data: [{ url: "https://cdn.example/1.png" }], usage });

test.each(["start", "open"] as const)(
  "a create whose %s failed was not sent, and its key is free",
  async (name) => {
    silenceLog();
    const gateway = openGateway(image);
    const meter = openMeter();
    const host = openFailingHost(name, async () => {
      throw new Error("too many jobs and sources");
    });
    const { create } = openStoredProxy({ host, gateway, plugins: [meter.plugin, idempotency()] });
    expect((await create("one")).status).toBe(503);
    expect([gateway.requests.length, meter.reserved.size]).toEqual([0, 0]);
    expect((await create("one")).status).toBe(200);
    expect(gateway.requests.length).toBe(1);
  },
);

test("a create that ends before its request reads the response still gets all of a response that is not stored", async () => {
  silenceLog();
  const gateway = openGateway(() => Response.json({ data: [{ b64_json: "x".repeat(200_000) }] }));
  const host = openFailingHost("start", async function (this: BoundHost, key, job, input) {
    await this.start(key, job, input);
    await proxy.host.ended();
  } as BoundHost["start"]);
  const proxy = openStoredProxy({ host, gateway, plugins: [idempotency({ maxBytes: 100_000 })] });
  const response = await proxy.create("one");
  expect(response.status).toBe(200);
  expect((await response.text()).length).toBeGreaterThan(200_000);
});

test.each(["create", "stream"] as const)(
  "a %s whose object was out of reach for a moment is sent once, and has its response",
  async (kind) => {
    silenceLog();
    let respond!: () => void;
    const responds = new Promise<void>((resolve) => {
      respond = resolve;
    });
    const events = { headers: { "content-type": "text/event-stream" } };
    const gateway = openGateway(async () => {
      await responds;
      return kind === "create" ? image() : new Response(piece("a") + end, events);
    });
    const meter = openMeter();
    const host = openFailingHost("open", async function (this: BoundHost, ...given) {
      const reader = (await this.open(...given)).getReader();
      void reader.read().catch(() => {});
      return new ReadableStream({
        async pull(controller) {
          await expect.poll(() => gateway.requests.length).toBe(1);
          void reader.cancel();
          controller.error(new Error("network connection lost"));
          respond();
        },
      });
    });
    const plugins = [meter.plugin, resumableStreams(), idempotency()];
    const { create, startStream: request } = openStoredProxy({ host, gateway, plugins });
    const response = await (kind === "create" ? create("one") : request());
    expect([response.status, (await response.text()).length > 0]).toEqual([200, true]);
    expect(gateway.requests.length).toBe(1);
    await expect.poll(() => [meter.spent, meter.reserved.size]).toEqual([[7], 0]);
  },
);

test("a create whose claim was stored, though its response was lost, costs nothing, and its key is free", async () => {
  silenceLog();
  const gateway = openGateway(image);
  const host = openFailingHost("run", async function (this: BoundHost, ...given): Promise<never> {
    await this.run(...given);
    throw new Error("the connection was lost behind the commit");
  });
  const plugins = [budget({ limits: { user: 1_000_000 }, windowMs: 86_400_000 }), idempotency()];
  const { create, send } = openStoredProxy({ host, gateway, plugins });
  expect((await create("one")).status).toBe(500);
  const response = await send({ method: "GET", path: "/v1/budget" });
  expect(await response.json()).toMatchObject({ budgets: [{ spent: 0, reserved: 0 }] });
  expect((await create("one")).status).toBe(200);
  expect(gateway.requests.length).toBe(1);
});

test("a host that closes ends the attempts to free a key, and prints nothing afterwards", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const lines = silenceLog();
  const starting = openFailingHost("start", async () => {
    throw new Error("too many jobs and sources");
  });
  const { create, host } = openStoredProxy({
    host: starting,
    gateway: openGateway(image),
    plugins: [idempotency()],
  });
  let attempts = 0;
  host.fails = (operation) => {
    const isFree = operation === "creates.free";
    if (isFree) attempts += 1;
    return isFree;
  };
  const creating = create("one");
  await expect.poll(() => attempts).toBe(1);
  await vi.advanceTimersByTimeAsync(3000);
  expect([(await creating).status, attempts]).toEqual([503, 4]);
  const closed = host.crash();
  host.isGone = false;
  await vi.advanceTimersByTimeAsync(1);
  await closed;
  lines.length = 0;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([attempts, lines]).toEqual([4, []]);
});

test("a fault within a plugin is reported as one, and is not tried again", async () => {
  const lines = silenceLog();
  const gateway = openGateway(image);
  const { create, host } = openStoredProxy({ gateway, plugins: [idempotency()] });
  host.fails = (operation) => operation === "creates.claim";
  expect((await create("one")).status).toBe(500);
  expect([host.opened, lines.join().includes("the database is gone")]).toEqual([1, true]);
});
