import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { readResults } from "./results.ts";
import { runVitest } from "./run.ts";

/** Endless loop that keeps a core busy. It ends with the process that started it. */
const busyLoop =
  "process.on('disconnect', () => process.exit()); (function turn() { for (let n = 0; n < 1e7; n++); setImmediate(turn); })()";

/** Maximum number of repeated test files, so that a move of many files does not take an hour. */
const MAX_CHANGED = 10;

/**
 * Runs test files several times in random order, with a busy loop for each core. Returns a line for each test that
 * failed at least once: `name: failed k of n`.
 *
 * @param files Paths, or other arguments of vitest. Default: the test files that differ from the base of the change.
 */
export async function repeatFiles(
  times: number,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
  folder: string,
): Promise<{ readonly line: string; readonly passed: number; readonly failures: readonly string[] }> {
  const chosen = files.length > 0 ? files : listChangedTests();
  if (chosen.length === 0) return { line: "no test file changed", passed: 0, failures: [] };
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", busyLoop], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
  );
  const counts = new Map<string, number>();
  let passed = 0;
  try {
    for (let nth = 1; nth <= times; nth++) {
      const results = join(folder, `repeat-${nth}.jsonl`);
      writeFileSync(results, "");
      const order = ["--sequence.shuffle.files", "--sequence.seed", String(nth)];
      const { status, output } = await runVitest([...chosen, ...order], { ...env, SLUICE_RESULTS: results });
      const read = readResults(results);
      const failed = new Set([...read.files.flatMap(({ failures }) => failures), ...read.failures]);
      if (status !== 0 && failed.size === 0) failed.add("vitest ended without results");
      if (failed.size > 0) console.log(output);
      for (const line of failed) counts.set(line, (counts.get(line) ?? 0) + 1);
      passed += read.files.reduce((sum, file) => sum + file.passed, 0);
    }
  } finally {
    for (const loop of loops) loop.kill();
  }
  const line = `${times} runs of ${chosen.length} files: ${passed} passes`;
  return {
    line,
    passed,
    failures: [...counts].map(([name, count]) => `${name}: failed ${count} of ${times}`),
  };
}

/**
 * Lists the test files that the change touches: since the base branch of a pull request, else in the last commit. Empty
 * in a clone without that history.
 */
function listChangedTests(): string[] {
  const base = process.env["GITHUB_BASE_REF"];
  const since = base ? `origin/${base}...HEAD` : "HEAD^";
  const { stdout } = spawnSync("git", ["diff", "--name-only", "--diff-filter=d", since], {
    encoding: "utf8",
  });
  const tests = stdout.split("\n").filter((name) => /\.test\.tsx?$/.test(name));
  return tests.filter((name) => !name.includes(".nightly.")).slice(0, MAX_CHANGED);
}
