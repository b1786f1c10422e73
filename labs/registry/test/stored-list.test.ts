import { expect, onTestFinished, test, vi } from "vitest";
import { createItemId } from "@/components/sluice/stored-list";

test("Items get different ids on a page over plain HTTP, which has no randomUUID", () => {
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  onTestFinished(() => void vi.unstubAllGlobals());
  const ids = Array.from({ length: 1000 }, createItemId);
  expect(new Set(ids).size).toBe(1000);
});
