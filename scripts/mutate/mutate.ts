import { readFileSync, writeFileSync } from "node:fs";
import type { TestCase } from "vitest/node";
import { readOptions } from "../options.ts";
import { applyMutant, findMutants, formatSource, insertCalls, type Mutant } from "./mutants.ts";
import { createBaselineError, createCall, openTests } from "./tests.ts";

/*
 * Changes one location of the source at a time, and runs the tests that reach it. A change that no test detects has
 * survived. Prints the survivors and the share of killed changes. Changed files are restored; commit before.
 *
 *   pnpm mutate packages/core/src/transport --sample 100 --seed 1
 *
 * Accepts several files or folders of one suite. `--skip 10` skips the first ten of the sample, to continue a stopped
 * run.
 *
 * One run of the project records which tests reach which location. A mutant that survives these tests runs against the
 * whole project, unless `--quick` is set. With `--near`, all runs use only the suite's nearby files: other files may
 * still kill a survivor.
 */

interface Suite {
  readonly project: string;
  /** Test files for one part of the folder, by a part of its path. They run before the others. */
  readonly near: Readonly<Record<string, readonly string[]>>;
}

const core = "core in node";
const stores = "stores in node";
const suites: Readonly<Record<string, Suite>> = {
  "packages/core/src/chat": {
    project: core,
    near: {
      "/partial-json/": ["/partial-json"],
      "/protocol/": ["/stream", "/schema", "/unknown-fields"],
      "/resum": ["/stream", "/chat-follow"],
    },
  },
  "packages/core/src/transport": {
    project: core,
    near: {
      "/billing": ["/billing"],
      "/failure": ["/errors", "/polling", "/refus"],
      "/send": ["/client", "/video-task.", "/assets."],
      "": ["/client", "/errors", "/stream", "/sse"],
    },
  },
  "packages/core/src/tasks": { project: core, near: { "": ["/polling", "/video-", "/asset"] } },
  "packages/stores/src": {
    project: stores,
    near: {
      "/chat/": ["/chat"],
      "/tabs/": ["/chat-tabs", "/refused-platform", "/video-task-store"],
      "/archive": ["/video-archive"],
      "/files/": ["/request-files", "/chat-images"],
      "/images/": ["/image"],
      "/videos/": ["/video-"],
      "/assets/": ["/asset"],
      "/tasks/": ["/video-", "/asset", "/page-activity"],
      "/storage/": ["/storage", "/forget", "/chat-storage"],
    },
  },
  "packages/media/src": {
    project: "media in node",
    near: { "/uploads/": ["/upload"], "/checks/": ["/media", "/video-media"], "": ["/fetch-media"] },
  },
  "packages/core/src/images": { project: core, near: { "": ["/image"] } },
  "packages/core/src/videos": { project: core, near: { "": ["/video-"] } },
  "packages/core/src": { project: core, near: {} },
  "packages/react/src": {
    project: "react",
    near: {
      attachments: ["/use-attachments"],
      conversation: ["/use-conversations"],
      error: ["/describe-error"],
      "/use-chat": ["/use-chat"],
      "/use-video": ["/use-video"],
      "": ["/activity", "/fast-refresh", "/server", "/use-chat-stream"],
    },
  },
  "packages/ai-sdk/src": {
    project: "ai-sdk",
    near: {
      "/chat/": ["/chat"],
      "/images/": ["/images"],
      "/videos/": ["/videos"],
      "/transport/": ["/transport"],
      "": [""],
    },
  },
  "packages/durable/src/buckets": { project: "durable*", near: { "": ["/bucket"] } },
  "packages/durable/src/file-store/archive": { project: "durable*", near: { "": ["/file-archive"] } },
  "packages/durable/src/file-store": { project: "durable*", near: { "": ["/file-"] } },
  "packages/durable/src": { project: "durable*", near: {} },
  "packages/worker-proxy/src/checks": {
    project: "worker-proxy-workerd",
    near: {
      "/body": ["/body"],
      "/addresses": ["/media"],
      "/caps": ["/caps"],
      "/media": ["/media", "/asset"],
      "/admit": ["/options", "/caps"],
      "/fields": ["/fields", "/epsilon"],
      "/ids": ["/tenancy", "/asset"],
      "/models": ["/caps", "/epsilon"],
      "/origin": ["/cors"],
      "/path": ["/paths"],
      "/rate": ["/rate-limit"],
      "/streams": ["/streams"],
      "/sign-in": ["/auth.", "/causes"],
    },
  },
  "packages/worker-proxy/src": { project: "worker-proxy*", near: {} },
};
/** Maximum duration of tests in the first rounds, in milliseconds. */
const QUICK_MS = 150;

const { values, positionals } = readOptions({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    skip: { type: "string", default: "0" },
    quick: { type: "boolean", default: false },
    near: { type: "boolean", default: false },
  },
});
const [folder = ""] = positionals;
const suite = Object.entries(suites).find(([path]) => folder.startsWith(path))?.[1];
if (!suite) {
  console.error(`No tests are known for "${folder}": add it to \`suites\` in scripts/mutate/mutate.ts.`);
  process.exit(2);
}

const all = positionals.flatMap(findMutants);
const chosen = shuffle(all, Number(values.seed)).slice(Number(values.skip), Number(values.sample));
console.log(`${all.length} places to change in ${positionals.join(", ")}, ${chosen.length} of them tried`);
const tests = await openTests(suite.project, values.near ? Object.values(suite.near).flat() : []);
const listTests = await withSources(insertAllCalls(chosen), tests.findCovering);
const survivors: Mutant[] = [];
for (const [index, mutant] of chosen.entries()) {
  const covering = listTests(index);
  const startedAt = Date.now();
  const failure = await withSources([[mutant.file, applyMutant(mutant)]], async () => {
    for (const round of planRounds(mutant, covering)) {
      const failure = await tests.findFailure(round);
      if (failure) return failure;
    }
    return undefined;
  });
  if (failure?.file) {
    // a file that does not load may also need a package that is not built
    const withoutChange = await tests.findFailure(tests.findByFile([failure.file]));
    if (withoutChange) throw createBaselineError(withoutChange);
  }
  if (!failure) survivors.push(mutant);
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  console.log(`${index + 1} ${failure ? "killed  " : "SURVIVED"} ${formatSource(mutant)}`);
  console.log(`    ${seconds} s, ${covering.length} tests${failure ? `, killed by: ${failure.by}` : ""}`);
}
await tests.close();
const killed = chosen.length - survivors.length;
console.log(
  `\n${killed} of ${chosen.length} killed (${((100 * killed) / chosen.length).toFixed(1)} %). Survivors:`,
);
for (const mutant of survivors) console.log(`  ${formatSource(mutant)}`);
// vitest has set the exit code: failing tests are expected here
process.exit(0);

/** Plans the test runs that a mutant must survive, fastest first. Undefined is the whole project. */
function planRounds(
  { file, runsAtLoad }: Mutant,
  covering: readonly TestCase[],
): (readonly TestCase[] | undefined)[] {
  const [, names = []] = Object.entries(suite?.near ?? {}).find(([part]) => file.includes(part)) ?? [];
  const isNear = (test: TestCase) => names.some((name) => test.module.moduleId.includes(name));
  const splitByDuration = (candidates: readonly TestCase[]) => {
    const quick = candidates.filter((test) => (test.diagnostic()?.duration ?? 0) < QUICK_MS);
    const slow = candidates.filter((test) => !quick.includes(test));
    return [quick.filter(isNear), quick.filter((test) => !isNear(test)), slow];
  };
  // code in another process, such as a worker, reports no coverage
  const uncovered = tests.findByFile(names).filter((test) => !covering.includes(test));
  const rounds = [...splitByDuration(covering), ...splitByDuration(uncovered)].filter(
    ({ length }) => length > 0,
  );
  return runsAtLoad || !values.quick ? [...rounds, undefined] : rounds;
}

/** Inserts a call at each location of all files to change. */
function insertAllCalls(mutants: readonly Mutant[]): (readonly [string, string])[] {
  const numbered = [...mutants.entries()];
  return [...new Set(mutants.map(({ file }) => file))].map((file) => {
    const inFile = numbered.filter(([, mutant]) => mutant.file === file);
    return [file, insertCalls(file, inFile, createCall)];
  });
}

/** Returns the items in an order that depends on the seed. */
function shuffle<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed;
  const nextRandom = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  return items
    .map((item) => [nextRandom(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/** Runs `run` while files have changed sources. */
async function withSources<Result>(
  changes: readonly (readonly [file: string, source: string])[],
  run: () => Promise<Result>,
): Promise<Result> {
  const sources = changes.map(([file]) => [file, readFileSync(file, "utf8")] as const);
  const restore = () => write(sources);
  const stop = () => process.exit(1);
  process.on("exit", restore);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  write(changes);
  try {
    return await run();
  } finally {
    restore();
    process.off("exit", restore);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}

function write(sources: readonly (readonly [file: string, source: string])[]): void {
  for (const [file, source] of sources) {
    writeFileSync(file, source);
    tests.invalidate(file);
  }
}
