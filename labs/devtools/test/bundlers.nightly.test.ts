// @vitest-environment node
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { pnpm, run } from "../../../scripts/tarballs.ts";
import { bundleModule, bundlers, installForBundlers } from "../../../tests/everywhere/bundlers.ts";
import { packInto, temporaryFolder } from "../../../tests/everywhere/project.ts";
import { traces } from "./traces.ts";

/* The packed package in the bundlers of apps. */

const folder = temporaryFolder();
const app = join(folder, "app");
const page = join(app, "devtools.js");
const root = join(import.meta.dirname, "../../..");
const hasRegistry = spawnSync("npm", ["view", "metro", "version"], { timeout: 20_000 }).status === 0;

beforeAll(() => {
  if (!hasRegistry) return;
  const tools = join(root, "tests/everywhere/tools");
  run(["npx", "-y", pnpm, "install", "--dir", tools, "--frozen-lockfile"], folder);
  const tarballs = packInto(join(folder, "tarballs"));
  run(["npx", "-y", pnpm, "--filter", "@sluice/devtools", "pack", "--pack-destination", folder], root);
  const devtools = join(folder, "sluice-devtools-0.0.0.tgz");
  installForBundlers(app, new Map([...tarballs, ["@sluice/devtools", devtools]]));
  writeFileSync(
    page,
    `import { createClient } from "@sluice/core";
import { devtoolsFetch, SluiceDevtools } from "@sluice/devtools";

const client = createClient({ baseURL: location.origin, fetch: devtoolsFetch() });
globalThis.page = [SluiceDevtools, client];
`,
  );
}, 600_000);
beforeEach(({ skip }) => skip(!hasRegistry, "the npm registry can't be reached"));

const findTraces = (code: string) => traces.filter((trace) => code.includes(trace));

test.each(Object.keys(bundlers))(
  "%s leaves nothing of the panel in a production build",
  { timeout: 600_000 },
  async (name) => {
    const code = await bundleModule(name, page, "production");
    expect(code.length).toBeGreaterThan(1000);
    expect(findTraces(code)).toEqual([]);
  },
);

// Metro has no development condition: its panel is empty in any build
test.each(Object.keys(bundlers).filter((name) => name !== "metro"))(
  "%s has the panel in a development build",
  { timeout: 600_000 },
  async (name) => {
    expect(findTraces(await bundleModule(name, page, "development"))).toEqual(traces);
  },
);
