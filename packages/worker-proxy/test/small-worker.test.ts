import { expect, test } from "vitest";
import { bundle } from "./support/bundle.js";

test("a Worker without plugins contains none of the code that runs them", async () => {
  const [small, whole] = await Promise.all([
    bundle("../bench/smallest-worker.ts"),
    bundle("worker-proxy/test/fixture/allow-list.ts"),
  ]);
  for (const text of ["plugins failed", "two of them reserve", "plugins: responded"]) {
    expect(whole).toContain(text);
    expect(small).not.toContain(text);
  }
});
