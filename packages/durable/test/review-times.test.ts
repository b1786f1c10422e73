import { budget, fileStore, videoWatch } from "@sluice/durable";
import { expect, test } from "vitest";

const limits = { user: 1 };
const store = { bucket: () => undefined, secret: () => "0123456789abcdef0123456789abcdef" };
const NEVER = Number.MAX_SAFE_INTEGER;

test.each([
  ["windowMs", () => budget({ limits, windowMs: NEVER })],
  ["reservationTtlMs", () => budget({ limits, windowMs: 1000, reservationTtlMs: NEVER })],
  ["retentionMs", () => videoWatch({ retentionMs: NEVER })],
  ["retentionMs", () => fileStore({ ...store, retentionMs: NEVER })],
  ["linkTtlMs", () => fileStore({ ...store, linkTtlMs: NEVER })],
  ["retentionMs", () => fileStore({ ...store, archive: { retentionMs: NEVER } })],
])("%s that ends at a time no row can hold is refused: %#", (name, create) => {
  expect(create).toThrow(new RegExp(`${name}: .*100 years`));
});
