import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { pnpm, run } from "../../scripts/tarballs.ts";
import { bundlers, codeOfDevtools, installForBundlers, tryBundler } from "../everywhere/bundlers.ts";
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

/** Texts of the panel, its faults and its styles, and parts of React that nothing else of the page needs. */
const traces = [
  "Sluice Devtools",
  "Lost response",
  "sluice-devtools",
  "createPortal",
  "useSyncExternalStore",
];
const tracesIn = (code: string) => traces.filter((trace) => code.includes(trace));

test.each(Object.keys(bundlers))(
  "%s leaves nothing of the developer tools in a production build",
  { timeout: 600_000 },
  async (name) => {
    const code = await codeOfDevtools(name, app, "production");
    expect(code.length).toBeGreaterThan(1000);
    expect(tracesIn(code)).toEqual([]);
  },
);

// Metro has no condition for development: there the tools are empty in any build
test.each(Object.keys(bundlers).filter((name) => name !== "metro"))(
  "%s has the panel of the developer tools in a development build",
  { timeout: 600_000 },
  async (name) => {
    expect(tracesIn(await codeOfDevtools(name, app, "development"))).toEqual(traces);
  },
);
