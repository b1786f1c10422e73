import { sync } from "@sluice/sync/server";
import type { GatewayProxy } from "@sluice/worker-proxy";
import { expect, test } from "vitest";

const proxy = (): GatewayProxy => ({}) as GatewayProxy;

test.each([
  ["an option that does not exist", { limit: 1 }, "sync: limit: is not an option"],
  ["a quota of nothing", { quota: { records: 0 } }, "sync: quota.records: give"],
  ["a quota of something else", { quota: { rows: 5 } }, "sync: quota.rows: give"],
  ["turns without the proxy", { turns: {} }, "sync: turns.proxy: give"],
  ["no response to a question", { turns: { proxy, maxSteps: 0 } }, "sync: turns.maxSteps: give"],
  ["a turn of an hour", { turns: { proxy, timeoutMs: 3_600_000 } }, "sync: turns.timeoutMs: give"],
])("The server refuses %s as it is created, and names the option", (_, options, message) => {
  expect(() => sync(options as never)).toThrow(message);
});
