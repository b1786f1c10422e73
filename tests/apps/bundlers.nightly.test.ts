import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { pnpm, run } from "../../scripts/tarballs.ts";
import { bundlers, installForBundlers, tryBundler } from "../everywhere/bundlers.ts";
import { packInto, temporaryFolder } from "../everywhere/project.ts";

/* A page that imports every entry, built by the bundlers of apps from the packed packages. Next builds its own example. */

const folder = temporaryFolder();
const app = join(folder, "app");
const hasRegistry = spawnSync("npm", ["view", "metro", "version"], { timeout: 20_000 }).status === 0;

beforeAll(() => {
  if (!hasRegistry) return;
  const tools = join(import.meta.dirname, "../everywhere/tools");
  run(["npx", "-y", pnpm, "install", "--dir", tools, "--frozen-lockfile"], folder);
  installForBundlers(app, packInto(join(folder, "tarballs")));
}, 600_000);
beforeEach(({ skip }) => {
  skip(!hasRegistry, "the npm registry can't be reached");
  skip(!findChromium(), "there is no Chromium");
});

test.each(Object.keys(bundlers))(
  "%s builds a page of all entries without a warning about them, and the page chats under a strict policy",
  { timeout: 600_000 },
  async (name) => {
    const { warnings, problem } = await tryBundler(name, app);
    expect(problem).toBeUndefined();
    expect(warnings).toEqual([]);
  },
);
