import { idempotency, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { expect, test } from "vitest";
import {
  end,
  openGateway,
  openPurse,
  openStoredProxy,
  piece,
  silenceLog,
  usage,
} from "./support/stored-proxy.js";

/**
 * A host whose response to the first start is lost, once the test says so.
 *
 * @param isStarted false if the job has not started either
 */
function openHostThatLosesAStart(lose: () => Promise<void>, isStarted = true) {
  const host = nodeHost({ file: ":memory:", env: {} });
  let starts = 0;
  return {
    ...host,
    open(setup: Parameters<typeof host.open>[0]) {
      const bind = host.open(setup);
      const bound = bind({});
      const { start } = bound;
      bound.start = async (...given) => {
        starts += 1;
        if (starts > 1 || isStarted) await start(...given);
        if (starts > 1) return;
        await lose();
        throw new Error("network connection lost");
      };
      return bind;
    },
  };
}

test("a create whose start failed was not sent, and its key is free", async () => {
  silenceLog();
  const gateway = openGateway(() => Response.json({ data: [{ url: "https://cdn.example/1.png" }], usage }));
  const host = openHostThatLosesAStart(async () => {}, false);
  const { create } = openStoredProxy({ host, gateway, plugins: [idempotency()] });
  expect((await create("one")).status).toBe(503);
  expect((await create("one")).status).toBe(200);
  expect(gateway.requests.length).toBe(1);
});

test("a create whose start was not confirmed is sent once, and has its response", async () => {
  silenceLog();
  let respond!: () => void;
  const responds = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const gateway = openGateway(async () => {
    await responds;
    return Response.json({ data: [{ url: "https://cdn.example/1.png" }], usage });
  });
  const purse = openPurse();
  const host = openHostThatLosesAStart(() => expect.poll(() => gateway.requests.length).toBe(1));
  const { create } = openStoredProxy({ host, gateway, plugins: [purse.plugin, idempotency()] });
  const first = create("one");
  await expect.poll(() => gateway.requests.length).toBe(1);
  const again = create("one");
  respond();
  expect([(await first).status, (await again).status]).toEqual([200, 200]);
  expect(gateway.requests.length).toBe(1);
  await expect.poll(() => purse.spent).toEqual([7]);
  expect(purse.reserved.size).toBe(0);
});

/**
 * A host that refuses the first reader, as a process with too many of them does.
 *
 * @param started resolves when the job of the response may be refused its reader
 */
function openHostThatRefusesAReader(started: () => Promise<void>) {
  const host = nodeHost({ file: ":memory:", env: {} });
  let opened = 0;
  return {
    ...host,
    open(setup: Parameters<typeof host.open>[0]) {
      const bind = host.open(setup);
      const bound = bind({});
      const { open } = bound;
      bound.open = async (...given) => {
        opened += 1;
        if (opened > 1) return open(...given);
        await started();
        throw new Error("too many sources");
      };
      return bind;
    },
  };
}

test.each([
  ["before it was sent", false],
  ["after it was sent", true],
] as const)(
  "a stream that nobody can read is stopped %s, and its user can begin another one",
  async (_, isSent) => {
    silenceLog();
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const purse = openPurse();
    const host = openHostThatRefusesAReader(async () => {
      if (isSent) await expect.poll(() => gateway.requests.length).toBe(1);
    });
    const limits = { maxStreamsPerUser: 1 };
    const { ask } = openStoredProxy({ host, gateway, limits, plugins: [purse.plugin, resumableStreams()] });
    expect((await ask()).status).toBe(503);
    if (isSent) await expect.poll(() => live.hasLeft).toBe(true);
    await expect.poll(() => purse.reserved.size).toBe(0);
    gateway.streams(piece("a") + end);
    await expect.poll(async () => (await ask()).status).toBe(200);
  },
);

test("a create that nobody can read goes on, and its key has the response", async () => {
  silenceLog();
  const gateway = openGateway(() => Response.json({ data: [{ url: "https://cdn.example/1.png" }], usage }));
  const host = openHostThatRefusesAReader(() => expect.poll(() => gateway.requests.length).toBe(1));
  const { create } = openStoredProxy({ host, gateway, plugins: [idempotency()] });
  expect((await create("one")).status).toBe(503);
  expect((await create("one")).status).toBe(200);
  expect(gateway.requests.length).toBe(1);
});
