import { beforeAll } from "vitest";
import { buildPackages } from "../../scripts/test/build.ts";

/* Setup file of the projects that test the built packages: builds them once for all workers. */

let built: Promise<void> | undefined;
beforeAll(() => {
  built ??= buildPackages();
  return built;
}, 300_000);
