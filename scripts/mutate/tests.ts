import { relative, resolve } from "node:path";
import { createVitest, type TestCase, type TestModule, type TestSpecification } from "vitest/node";

/** A run of tests that failed. */
export interface Failure {
  /** Name of the first failed test, the error of the run, or `"timeout"` if the tests hang. */
  readonly by: string;
  /** File that failed without a failing test: it can't be loaded, or its setup fails. */
  readonly file?: string;
}

/** The tests of one project, in a process that caches all unchanged files between runs. */
export interface Tests {
  /** Runs tests, by default all, until the first one fails. Returns undefined if none fails. */
  readonly findFailure: (tests?: readonly TestCase[]) => Promise<Failure | undefined>;
  /**
   * Runs all tests. Returns the tests that printed a number with {@link createCall}, by the number. A number that was
   * printed only outside tests has all tests of the file.
   *
   * @throws if a test or a file fails
   */
  readonly findCovering: () => Promise<(number: number) => readonly TestCase[]>;
  /** Returns the tests of the files whose path contains one of these parts. */
  readonly findByFile: (parts: readonly string[]) => readonly TestCase[];
  /** Reports a changed file. */
  readonly invalidate: (file: string) => void;
  readonly close: () => Promise<void>;
}

const MARK = "covered-by-mutate:";
/** Time limit of a test, in milliseconds. */
const TEST_MS = 30_000;
/** Time limit of a run: this time, plus a multiple of the first duration of its tests. */
const RUN_MS = 30_000;
const DURATION_FACTOR = 5;

/** Creates the call with which the source prints a number, once per test. */
export function createCall(number: number): string {
  return `(() => {
    const { current, filepath } = globalThis.__vitest_worker__ ?? {};
    const key = "${MARK}${number}@" + (current?.id ?? filepath);
    globalThis.__covered ??= new Set();
    if (!globalThis.__covered.has(key)) console.debug("${MARK}${number}@" + filepath);
    globalThis.__covered.add(key);
  })()`;
}

/**
 * Opens the tests of a project.
 *
 * @param files parts of the paths of the files to run; empty for all files
 */
export async function openTests(project: string, files: readonly string[] = []): Promise<Tests> {
  let failure: Failure | undefined;
  let isCovering = false;
  let onLog: (text: string, taskId: string | undefined) => void = () => {};
  // the files of `pnpm test`, unless the caller sets another tier; vitest's config reads it
  process.env["SLUICE_TIER"] ??= "test";
  const vitest = await createVitest("test", {
    project: [project],
    watch: false,
    bail: 1,
    testTimeout: TEST_MS,
    reporters: [
      {
        onTestCaseResult(test) {
          if (test.result().state === "failed") failure ??= { by: test.fullName };
        },
        onTestRunEnd(modules, [error], reason) {
          const broken = modules.find((module) => module.state() === "failed");
          if (broken) failure ??= { by: readMessage(broken), file: broken.moduleId };
          // vitest intercepts the printed numbers, which a test that stubs platform functions would disturb
          if (!isCovering && (reason !== "passed" || error)) failure ??= { by: error?.message ?? reason };
        },
        onUserConsoleLog: ({ content, taskId }) => onLog(content, taskId),
      },
    ],
  });
  // a worker terminated during its start rejects an unhandled promise, which would end vitest
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", () => {});
  let all: readonly TestCase[] = [];
  const specifications = await vitest.globTestSpecifications([...files]);

  return {
    findFailure(tests) {
      const firstMs = (tests ?? all).reduce((sum, test) => sum + (test.diagnostic()?.duration ?? 0), 0);
      return run(tests ? listSpecifications(tests) : specifications, RUN_MS + DURATION_FACTOR * firstMs);
    },
    async findCovering() {
      const byNumber = new Map<number, Set<string>>();
      onLog = (text, taskId = "") => {
        for (const [, number, file = ""] of text.matchAll(new RegExp(`${MARK}(\\d+)@(.*)`, "g"))) {
          const locations = byNumber.get(Number(number)) ?? new Set();
          byNumber.set(Number(number), locations.add(taskId).add(file));
        }
      };
      isCovering = true;
      const failed = await run(specifications, Number.POSITIVE_INFINITY);
      isCovering = false;
      if (failed) throw createBaselineError(failed);
      onLog = () => {};
      all = vitest.state.getTestModules().flatMap((module) => listTests(module));
      const ids = new Set(all.map(({ id }) => id));
      return (number) => {
        const locations = byNumber.get(number) ?? new Set();
        const isInTests = [...locations].some((location) => ids.has(location));
        return all.filter(
          ({ id, module }) => locations.has(id) || (!isInTests && locations.has(module.moduleId)),
        );
      };
    },
    findByFile: (parts) => all.filter(({ module }) => parts.some((part) => module.moduleId.includes(part))),
    invalidate: (file) => vitest.invalidateFile(resolve(file)),
    close: () => vitest.close(),
  };

  async function run(chosen: readonly TestSpecification[], maxMs: number): Promise<Failure | undefined> {
    failure = undefined;
    const stop = () => {
      failure ??= { by: "timeout" };
      // the second call terminates the workers
      for (let call = 0; call < 2; call += 1) vitest.cancelCurrentRun("keyboard-input").catch(() => {});
    };
    const timer = maxMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(stop, maxMs);
    await vitest.runTestSpecifications([...chosen]);
    clearTimeout(timer);
    return failure;
  }
}

/** Creates the error of a failed run without a change. */
export function createBaselineError({ by, file }: Failure): Error {
  const location = file === undefined ? "A test" : relative("", file);
  return new Error(`${location} fails without a change, so no mutant can be tested: ${by}`);
}

function readMessage(module: TestModule): string {
  const suites = [module, ...module.children.allSuites()];
  return suites.flatMap((suite) => suite.errors())[0]?.message ?? "it gives no error";
}

function listTests(module: TestModule): TestCase[] {
  return [...module.children.allTests()].filter((test) => test.result().state !== "skipped");
}

function listSpecifications(tests: readonly TestCase[]): TestSpecification[] {
  return [...new Set(tests.map(({ module }) => module))].map((module) => {
    const testIds = tests.filter((test) => test.module === module).map(({ id }) => id);
    return module.project.createSpecification(module.moduleId, { testIds });
  });
}
