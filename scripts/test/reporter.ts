import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { UserConsoleLog } from "vitest";
import type { Reporter, SerializedError, TestCase, TestModule, TestRunEndReason, Vitest } from "vitest/node";
import { errorMarks, type FileResult, type RunResult } from "./results.ts";

/**
 * Reports a run to `scripts/test.ts`: a line of JSON for each file, in the file named by SLUICE_RESULTS. It prints only
 * errors of failed tests. A test that prints anything fails.
 */
export default class ResultReporter implements Reporter {
  private vitest: Vitest | undefined;
  private readonly printed = new Map<string, string>();

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onUserConsoleLog({ taskId, type, content }: UserConsoleLog): void {
    // figures for bench/capacity.ts
    if (content.startsWith("capacity {")) return;
    const key = taskId ?? "";
    if (!this.printed.has(key)) this.printed.set(key, `printed to ${type}: ${readFirstLine(content)}`);
  }

  onTestModuleEnd(module: TestModule): void {
    const file = `${module.project.name} ${relative(".", module.moduleId)}`;
    const result: FileResult = {
      project: module.project.name,
      file: relative(".", module.moduleId),
      seconds: readSeconds(module),
      passed: 0,
      skipped: [],
      failures: module.errors().map((error) => this.describeFailure(file, error, module)),
      slowest: [],
    };
    const output = this.printed.get(module.id);
    if (output) result.failures.push(`${file}: ${output}`);
    for (const test of module.children.allTests()) this.addTest(test, file, result);
    result.slowest.sort((a, b) => b.seconds - a.seconds).splice(10);
    write({ file: result });
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    for (const error of errors) {
      this.print("outside tests", () => this.vitest?.logger.printError(error, { fullStack: true }));
      const failure = `outside tests${describeTest(error)}: ${readFirstLine(error.message)}`;
      write({ failure, crashed: findCrashedFile(error) });
    }
    const output = this.printed.get("");
    if (output) write({ failure: `outside tests: ${output}` });
    write({ ended: reason, files: modules.length });
  }

  private addTest(test: TestCase, file: string, result: FileResult): void {
    const { state, errors } = test.result();
    const title = `${file} > ${test.fullName}`;
    const output = this.printed.get(test.id);
    if (state === "failed") {
      for (const error of errors) result.failures.push(this.describeFailure(title, error, test));
    } else if (output) result.failures.push(`${title}: ${output}`);
    else if (state === "passed") result.passed++;
    else if (!isFiltered(this.vitest))
      result.skipped.push(test.parent.type === "suite" ? test.parent.fullName : test.name);
    const seconds = (test.diagnostic()?.duration ?? 0) / 1000;
    if (seconds > 0.3) result.slowest.push({ title, seconds });
  }

  /** Prints an error between marks, so that the runner can separate it from the output of other processes. */
  private print(title: string, printError: () => void): void {
    this.vitest?.logger.error(`${errorMarks.start}\n✗ ${title}`);
    printError();
    this.vitest?.logger.error(errorMarks.end);
  }

  private describeFailure(title: string, error: SerializedError, source: TestCase | TestModule): string {
    this.print(title, () => this.vitest?.logger.printError(error, { project: source.project }));
    return `${title}: ${readFirstLine(error.message)}`;
  }
}

/** True if the arguments filter tests, which are then not skips. */
function isFiltered(vitest: Vitest | undefined): boolean {
  return Boolean(vitest?.config.testNamePattern);
}

function write(result: RunResult): void {
  appendFileSync(process.env["SLUICE_RESULTS"] ?? "/dev/null", `${JSON.stringify(result)}\n`);
}

function readSeconds(module: TestModule): number {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } =
    module.diagnostic();
  const ms = collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration;
  return Math.round(ms / 10) / 100;
}

function readFirstLine(text: unknown): string {
  return String(text).trim().split("\n", 1)[0] ?? "";
}

/** Finds the file during which the runtime of a pool ended, such as workerd. */
function findCrashedFile({ cause }: SerializedError): string | undefined {
  const message = String((cause as { readonly message?: unknown } | undefined)?.message);
  const [, file] = /while running test file (\S+)/.exec(message) ?? [];
  return file && relative(".", file);
}

/** Returns the name of the test that ran when an error was thrown outside of it. */
function describeTest(error: SerializedError): string {
  const file = error["VITEST_TEST_PATH"] as string | undefined;
  const test = error["VITEST_TEST_NAME"] as string | undefined;
  return file ? ` (during ${relative(".", file)}${test ? ` > ${test}` : ""})` : "";
}
