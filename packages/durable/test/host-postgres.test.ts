import { hostTests } from "@sluice/durable/testing";
import { afterAll, describe, test } from "vitest";
import { openPair, postgresURL, stopPostgres } from "./support/hosts.js";

afterAll(stopPostgres);

describe("Postgres with two processes", () => {
  hostTests({
    open: async (part) => openPair({ url: await postgresURL() }, part),
    test,
  });
});
