import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { checkForJSR } from "../everywhere/installs.ts";
import { temporaryFolder } from "../everywhere/project.ts";

/* The packages for JSR. Deno checks their types together with the types of npm packages, so it needs the registry. */

test("JSR would take the built packages, without a type that it has to infer", { timeout: 600_000 }, ({
  skip,
}) => {
  const { status } = spawnSync("npm", ["view", "react", "version"], { timeout: 20_000 });
  skip(status !== 0, "the npm registry can't be reached");
  expect(checkForJSR(temporaryFolder()).problem).toBeUndefined();
});
