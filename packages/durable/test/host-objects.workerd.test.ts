import { env } from "cloudflare:workers";
import { hostTests } from "@sluice/durable/testing";
import { describe, test } from "vitest";
import { type HostEnv, host } from "./fixture/host-worker.js";

describe("Durable Objects", () => {
  hostTests({
    open: (part) => ({
      host: host.open({ parts: [part], report: () => {} })(env as unknown as HostEnv),
    }),
    test,
  });
});
