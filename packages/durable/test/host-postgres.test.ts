import { postgresHost } from "@sluice/durable/postgres";
import { hostTests } from "@sluice/durable/testing";
import type { BoundHost } from "@sluice/worker-proxy/plugin";
import { afterAll, describe, test } from "vitest";
import { postgresURL, stopPostgres } from "./support/hosts.js";

afterAll(stopPostgres);

describe("Postgres with two processes", () => {
  hostTests({
    async open(part) {
      const url = await postgresURL();
      const hosts = [postgresHost({ url }), postgresHost({ url })];
      const [host, other] = hosts.map((each) => each.open({ parts: [part], report: () => {} })({}));
      const close = async () => void (await Promise.all(hosts.map((each) => each.close(100))));
      return { host: host as BoundHost, other: other as BoundHost, close };
    },
    test,
  });
});
