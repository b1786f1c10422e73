import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readKnownBugs } from "../tests/simulation/known-bugs.ts";

/*
 * Lists what the tests show, from their titles: the numbered threats to the proxy, and the faults that chats, tasks and
 * uploads survive.
 *
 *   pnpm cases               all of them
 *   pnpm cases 28            one threat
 *   pnpm cases reliability   the faults
 */

const root = join(import.meta.dirname, "..");
const threatFiles = ["packages/{worker-proxy,durable,mcp}/test/*.test.ts", "tests/*/*.test.ts"];
const faultFiles = ["tests/simulation/*.test.ts", "tests/{pages,studio}/*{chaos,fire}*.test.ts"];
/** A title that names its threats: "… (case 1)", "… (cases 82, 83)". */
const TITLE_WITH_CASES = /(["'`])((?:(?!\1)[^\n\\]|\\.)*\(cases? \d+(?:(?:, | and )\d+)*\)[:,]?)\1/g;
const TITLE = /\b(?:test|describe)(?:\.\w+)*\(\s*(["'`])((?:(?!\1)[^\n\\]|\\.)+)\1/g;

/** Finds the titles of the tests of each threat, by the number of the threat. */
export function readThreats(): ReadonlyMap<number, readonly string[]> {
  const threats = new Map<number, string[]>();
  for (const file of listFiles(threatFiles))
    for (const [, , title = ""] of readFileSync(join(root, file), "utf8").matchAll(TITLE_WITH_CASES))
      for (const [, numbers = ""] of title.matchAll(/\(cases? ((?:\d+(?:, | and )?)+)\)/g))
        for (const number of (numbers.match(/\d+/g) ?? []).map(Number))
          threats.set(number, [...(threats.get(number) ?? []), `${title}  (${file})`]);
  return new Map([...threats].toSorted(([a], [b]) => a - b));
}

function listFiles(patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: root }).toSorted();
}

if (import.meta.main) {
  const [filter] = process.argv.slice(2);
  if (filter !== "reliability")
    for (const [number, titles] of readThreats())
      if (filter === undefined || Number(filter) === number)
        console.log(`${number}\n${titles.map((title) => `  ${title}`).join("\n")}`);
  if (filter === undefined || filter === "reliability") {
    for (const file of listFiles(faultFiles)) {
      console.log(file);
      for (const [, , title = ""] of readFileSync(join(root, file), "utf8").matchAll(TITLE))
        if (!title.includes("${")) console.log(`  ${title}`);
    }
    console.log("tests/simulation/bugs: put back, and found");
    for (const { name } of readKnownBugs()) console.log(`  ${name}`);
  }
}
