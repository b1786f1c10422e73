import { join } from "node:path";
import { hostTests } from "@sluice/durable/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { createHostProgram, type HostProgram } from "./support/host-process.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";
import { createRemoteHost } from "./support/served-host.js";
import { startDurableProxy } from "./support/workerd.js";

let program: HostProgram;
let files = 0;
beforeAll(async () => {
  program = await createHostProgram();
});
afterAll(async () => {
  await program.close();
  await stopPostgres();
});

describe("A Node process that is killed and started again", () => {
  hostTests({
    async open() {
      files += 1;
      const process = await program.run(join(program.folder, `${files}.db`));
      const crash = async () => {
        await process.kill();
        await process.start();
      };
      return { host: process.host, crash, close: () => process.close() };
    },
    canCrash: true,
    test,
  });
});

describe("Two processes on Postgres, one of which is killed", () => {
  hostTests({
    async open() {
      const url = await postgresURL();
      const [first, second] = await Promise.all([program.run(url), program.run(url)]);
      return {
        host: first.host,
        other: second.host,
        crash: (host) => (host === first.host ? first : second).kill(),
        close: async () => void (await Promise.all([first.close(), second.close()])),
      };
    },
    canCrash: true,
    test,
  });
});

describe("A workerd without Node's modules that is killed and started again", () => {
  const opened = startDurableProxy({
    fixture: "durable/test/fixture/host-remote-worker.ts",
    objects: { SLUICE: "Sluice" },
  });
  afterAll(async () => (await opened).close());
  hostTests({
    async open() {
      const workerd = await opened;
      const crash = async () => {
        await workerd.kill();
        await workerd.start();
      };
      return { host: createRemoteHost(() => workerd.address), crash };
    },
    canCrash: true,
    test,
  });
});
