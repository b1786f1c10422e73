import { relative, resolve } from "node:path";
import { createVitest, type TestCase, type TestModule, type TestSpecification } from "vitest/node";

/** A run of tests that failed. */
export interface Failure {
  /** Name of the first test that failed, the error of the run, or `"no end"` where the tests do not end. */
  readonly by: string;
  /** File that failed without a failing test: it can't be loaded, or its setup fails. */
  readonly file?: string;
}

/** The tests of one project, in a process that keeps all unchanged files between two runs. */
export interface Tests {
  /** Runs tests, by default all, until the first one fails. Returns undefined where none fails. */
  readonly failure: (tests?: readonly TestCase[]) => Promise<Failure | undefined>;
  /**
   * Runs all tests. Returns the tests that printed a number with {@link callOf}, by the number. A number that was
   * printed only outside tests has all tests of the file.
   *
   * @throws where a test or a file fails
   */
  readonly covering: () => Promise<(number: number) => readonly TestCase[]>;
  /** Returns the tests of the files whose path has one of these parts. */
  readonly inFiles: (parts: readonly string[]) => readonly TestCase[];
  /** Reports a file that was written. */
  readonly changed: (file: string) => void;
  readonly close: () => Promise<void>;
}

const MARK = "covered-by-mutate:";
/** Until a test counts as hanging, in milliseconds. */
const TEST_MS = 30_000;
/** Until a run counts as one without an end: this time, and this many times the time that its tests took at first. */
const RUN_MS = 30_000;
const TIMES = 5;

/** Makes the call with which the source prints a number, once for each test. */
export function callOf(number: number): string {
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
 * @param files parts of the paths of the files to run; all files for none
 */
export async function openTests(project: string, files: readonly string[] = []): Promise<Tests> {
  let failure: Failure | undefined;
  let isCovering = false;
  let onLog: (text: string, taskId: string | undefined) => void = () => {};
  // the files of `pnpm test`, unless the caller chooses another tier; the config of vitest reads it
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
          if (broken) failure ??= { by: messageOf(broken), file: broken.moduleId };
          // a test that puts the platform's functions away disturbs vitest where it takes the printed numbers
          if (!isCovering && (reason !== "passed" || error)) failure ??= { by: error?.message ?? reason };
        },
        onUserConsoleLog: ({ content, taskId }) => onLog(content, taskId),
      },
    ],
  });
  // a worker that is ended before it is up rejects a promise that nobody has; vitest would end the process
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", () => {});
  let all: readonly TestCase[] = [];
  const specifications = await vitest.globTestSpecifications([...files]);

  return {
    failure(tests) {
      const usualMs = (tests ?? all).reduce((sum, test) => sum + (test.diagnostic()?.duration ?? 0), 0);
      return run(tests ? specificationsOf(tests) : specifications, RUN_MS + TIMES * usualMs);
    },
    async covering() {
      const byNumber = new Map<number, Set<string>>();
      onLog = (text, taskId = "") => {
        for (const [, number, file = ""] of text.matchAll(new RegExp(`${MARK}(\\d+)@(.*)`, "g"))) {
          const places = byNumber.get(Number(number)) ?? new Set();
          byNumber.set(Number(number), places.add(taskId).add(file));
        }
      };
      isCovering = true;
      const failed = await run(specifications, Number.POSITIVE_INFINITY);
      isCovering = false;
      if (failed) throw failureWithoutChange(failed);
      onLog = () => {};
      all = vitest.state.getTestModules().flatMap((module) => testsOf(module));
      const ids = new Set(all.map(({ id }) => id));
      return (number) => {
        const places = byNumber.get(number) ?? new Set();
        const isInTests = [...places].some((place) => ids.has(place));
        return all.filter(({ id, module }) => places.has(id) || (!isInTests && places.has(module.moduleId)));
      };
    },
    inFiles: (parts) => all.filter(({ module }) => parts.some((part) => module.moduleId.includes(part))),
    changed: (file) => vitest.invalidateFile(resolve(file)),
    close: () => vitest.close(),
  };

  async function run(chosen: readonly TestSpecification[], mostMs: number): Promise<Failure | undefined> {
    failure = undefined;
    const stop = () => {
      failure ??= { by: "no end" };
      // the second call ends the workers by force
      for (let call = 0; call < 2; call += 1) vitest.cancelCurrentRun("keyboard-input").catch(() => {});
    };
    const timer = mostMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(stop, mostMs);
    await vitest.runTestSpecifications([...chosen]);
    clearTimeout(timer);
    return failure;
  }
}

/** Makes the error of a run without a change that failed. */
export function failureWithoutChange({ by, file }: Failure): Error {
  const place = file === undefined ? "A test" : relative("", file);
  return new Error(`${place} fails without a change, so that nothing can be said of one: ${by}`);
}

function messageOf(module: TestModule): string {
  const suites = [module, ...module.children.allSuites()];
  return suites.flatMap((suite) => suite.errors())[0]?.message ?? "it gives no error";
}

function testsOf(module: TestModule): TestCase[] {
  return [...module.children.allTests()].filter((test) => test.result().state !== "skipped");
}

function specificationsOf(tests: readonly TestCase[]): TestSpecification[] {
  return [...new Set(tests.map(({ module }) => module))].map((module) => {
    const testIds = tests.filter((test) => test.module === module).map(({ id }) => id);
    return module.project.createSpecification(module.moduleId, { testIds });
  });
}
