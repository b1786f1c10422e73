import { spawnSync } from "node:child_process";

/*
 * Runs the recipes of other people's frameworks on the newest versions of them, each week in CI. It changes the lockfile,
 * for that run alone. `minimumReleaseAge` holds here, too.
 */

/** What `tests/package.json` has. rxjs is left out: AG-UI names its version. */
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
/** What is too large for every install, or changes the versions of others: its tests are skipped where it is absent. */
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
