import { sync } from "@sluice/sync/server";
import { expect, test } from "vitest";

test.each([
  ["an option that does not exist", { limit: 1 }, "sync: limit: is not an option"],
  ["a quota of nothing", { quota: { records: 0 } }, "sync: quota.records: give"],
  ["a quota of something else", { quota: { rows: 5 } }, "sync: quota.rows: give"],
  ["no response to a question", { turns: { maxSteps: 0 } }, "sync: turns.maxSteps: give"],
  ["a turn of an hour", { turns: { timeoutMs: 3_600_000 } }, "sync: turns.timeoutMs: give"],
])("The server refuses %s as it is created, and names the option", (_, options, message) => {
  expect(() => sync(options as never)).toThrow(message);
});
