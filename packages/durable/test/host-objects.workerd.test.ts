import { env } from "cloudflare:workers";
import { hostTests } from "@sluice/durable/testing";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { type HostEnv, host } from "./fixture/host-worker.js";

// jobs and sources of the tests fail, and the proxy logs it
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("Durable Objects", () => {
  hostTests({
    open: (part) => ({
      host: host.open({ parts: [part], report: () => {} })(env as unknown as HostEnv),
    }),
    test,
  });
});
