import { spawnSync } from "node:child_process";

/*
 * Runs the recipes of other people's frameworks on the newest versions of them, each week in CI. It changes the lockfile,
 * for that run alone. `minimumReleaseAge` holds here, too.
 */

/** Packages of `tests/package.json`. rxjs is left out: AG-UI names its version. */
const known = [
  "@ag-ui/client",
  "@assistant-ui/react",
  "@sveltejs/vite-plugin-svelte",
  "@tanstack/react-query",
  "@vitejs/plugin-vue",
  "solid-js",
  "svelte",
  "vite-plugin-solid",
  "vue",
];
/** Packages that are too large for every install, or change the versions of others. Their tests are skipped where they are absent. */
const large = ["@copilotkit/core", "@react-native-async-storage/async-storage", "expo"];

const tests = ["--filter", "@sluice/tests"];
pnpm(...tests, "update", "--latest", ...known);
pnpm(...tests, "add", "--save-dev", "--ignore-scripts", ...large);
pnpm(...tests, "list", "--depth", "0", ...known, ...large);
pnpm("run", "test", "--recipes");

function pnpm(...args: string[]): void {
  const { status } = spawnSync("pnpm", args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
