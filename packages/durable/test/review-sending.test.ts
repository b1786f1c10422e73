import { idempotency } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { expect, test } from "vitest";
import { openGateway, openPurse, openStoredProxy, silenceLog, usage } from "./support/stored-proxy.js";

/** A host whose response to the first start is lost, once the test says so. The job has started all the same. */
function openHostThatLosesAStart(lose: () => Promise<void>) {
  const host = nodeHost({ file: ":memory:", env: {} });
  let starts = 0;
  return {
    ...host,
    open(setup: Parameters<typeof host.open>[0]) {
      const bind = host.open(setup);
      const bound = bind({});
      const { start } = bound;
      bound.start = async (...given) => {
        await start(...given);
        starts += 1;
        if (starts > 1) return;
        await lose();
        throw new Error("network connection lost");
      };
      return bind;
    },
  };
}

test("a create whose start was not confirmed is sent once, and the key has its response", async () => {
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
  expect((await create("one")).status).toBe(503);
  const again = create("one");
  respond();
  expect((await again).status).toBe(200);
  expect(gateway.requests.length).toBe(1);
  await expect.poll(() => purse.spent).toEqual([7]);
  expect(purse.reserved.size).toBe(0);
});
