import { spawnSync } from "node:child_process";

/*
 * Runs the recipes of other frameworks on their newest versions, weekly in CI. It changes the lockfile for this run
 * only. `minimumReleaseAge` also applies here.
 */

/** Packages of `tests/package.json`, without rxjs: AG-UI pins its version. */
const installed = [
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
/**
 * Packages that are too large for every install, or change the versions of others. Without them, their tests are
 * skipped.
 */
const large = ["@copilotkit/core", "@react-native-async-storage/async-storage", "expo"];

const tests = ["--filter", "@sluice/tests"];
runPnpm(...tests, "update", "--latest", ...installed);
runPnpm(...tests, "add", "--save-dev", "--ignore-scripts", ...large);
runPnpm(...tests, "list", "--depth", "0", ...installed, ...large);
runPnpm("run", "test", "--recipes");

function runPnpm(...args: string[]): void {
  const { status } = spawnSync("pnpm", args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
