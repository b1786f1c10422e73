import { env } from "cloudflare:workers";
import { cloudflareHost } from "@sluice/durable/cloudflare";
import { hostTests } from "@sluice/durable/testing";
import type { Refusal } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hostTestPart } from "../src/testing/host-part.js";
import { type HostEnv, host } from "./fixture/host-worker.js";

// jobs and sources of the tests fail, and the proxy logs it
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

test("refuse a proxy whose host has the class of another proxy, with what to do", async () => {
  const other = cloudflareHost<HostEnv>((bindings) => bindings.SLUICE);
  const bound = other.open({ parts: [hostTestPart], report: () => {} })(env as unknown as HostEnv);
  const [step] = hostTestPart.operations;
  const error = await bound.run("other", step as never, null).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ reason: "misconfigured" });
  expect(String((error as Refusal).details.problem)).toMatch(/^cloudflareHost: .*durableObject\(proxy\)/);
});

describe("Durable Objects", () => {
  hostTests({
    open: (part) => ({
      host: host.open({ parts: [part], report: () => {} })(env as unknown as HostEnv),
    }),
    test,
  });
});
