import { readFileSync } from "node:fs";
import type { Durations } from "./durations.ts";

/** Results of one test file in one project. */
export interface FileResult {
  readonly project: string;
  readonly file: string;
  readonly seconds: number;
  passed: number;
  /** The suite, or the title, of each skipped test. */
  readonly skipped: string[];
  /** A line for each failed test: project, file, title and the first line of its error. */
  readonly failures: string[];
  /** The ten slowest tests over 300 ms. */
  readonly slowest: { readonly title: string; readonly seconds: number }[];
}

/** Marks around an error from the reporter. */
export const errorMarks = { start: "\x02", end: "\x03" };

/** A line of the results of a run. */
export type RunResult =
  | { readonly file: FileResult }
  | { readonly failure: string; readonly crashed?: string | undefined }
  | { readonly ended: string; readonly files: number };

/** Reads the results so far, which `reporter.ts` wrote. */
export function readResults(path: string) {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as RunResult);
  return {
    files: lines.flatMap((line) => ("file" in line ? [line.file] : [])),
    failures: lines.flatMap((line) => ("failure" in line ? [line.failure] : [])),
    /** The failures in which a runtime of the pool crashed, with the file that it ran. */
    crashes: lines.flatMap((line) =>
      "failure" in line && line.crashed ? [{ file: line.crashed, failure: line.failure }] : [],
    ),
    ended: lines.filter((line) => "ended" in line).length,
  };
}

/** Splits the output of vitest into the errors of its reporter and the output of other processes. */
export function splitOutput(output: string): { readonly errors: string; readonly stray: string } {
  const { start, end } = errorMarks;
  const [stray = "", ...parts] = output.split(start).map((part) => part.split(end));
  const errors = parts.map(([error = ""]) => error).join("");
  return { errors, stray: [...stray, ...parts.flatMap(([, ...rest]) => rest)].join("").trim() };
}

/** Returns a line for each project. */
export function describeProjects(files: readonly FileResult[]): string[] {
  return [...Map.groupBy(files, ({ project }) => project)].map(([project, own]) => {
    const seconds = own.reduce((sum, file) => sum + file.seconds, 0).toFixed(1);
    const failed = own.reduce((sum, { failures }) => sum + failures.length, 0);
    const passed = own.reduce((sum, file) => sum + file.passed, 0);
    const counts = `${passed} passed${failed ? `, ${failed} failed` : ""}`;
    return `${failed ? "✗" : "✓"} ${project}: ${counts} in ${own.length} files, ${seconds} s`;
  });
}

/** Returns a line about skipped tests, if there are any. */
export function describeSkips(files: readonly FileResult[]): string[] {
  const titles = files.flatMap(({ skipped }) => skipped);
  const names = [...new Set(titles)];
  const more = names.length > 4 ? ` and ${names.length - 4} more` : "";
  return titles.length > 0 ? [`⚠ ${titles.length} skipped: ${names.slice(0, 4).join("; ")}${more}`] : [];
}

/** Returns a line for each of the ten slowest tests. */
export function describeSlowest(files: readonly FileResult[]): string[] {
  const tests = files.flatMap(({ slowest }) => slowest).sort((a, b) => b.seconds - a.seconds);
  return tests.slice(0, 10).map(({ title, seconds }) => `  ${seconds.toFixed(1)} s  ${title.slice(0, 140)}`);
}

/** Returns the seconds of each file. */
export function collectDurations(files: readonly FileResult[]): Durations {
  const durations: Durations = {};
  for (const { project, file, seconds } of files) {
    durations[project] ??= {};
    durations[project][file] = seconds;
  }
  return durations;
}
