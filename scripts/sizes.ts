import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * Measures what a bundler makes of one import (`.size-limit.json`), and prints what this branch adds to each figure of
 * `main`. A figure may be up to a tenth above that of `main`; more needs a reason in the pull request, and `--save` in a
 * change of its own.
 *
 *   --save   writes the figures into scripts/sizes.json, the base of the next changes, and into docs/performance.md
 */

interface Measured {
  readonly name: string;
  /** Bytes, minified and compressed with gzip. */
  readonly size: number;
}
type Figures = Readonly<Record<string, number>>;

const root = join(import.meta.dirname, "..");
const FILE = "scripts/sizes.json";
const PAGE = "docs/performance.md";
const TABLE_HEAD = "| import | minified, gzip |";
const TABLE = /^\| import +\| minified, gzip +\|\n(?:\|.*\n)*/m;
/** The largest part of a figure that one branch may add. */
const MOST_ADDED = 0.1;

const printed = execFileSync(join(root, "node_modules/.bin/size-limit"), ["--json"], {
  cwd: root,
  encoding: "utf8",
});
const measured = JSON.parse(printed) as readonly Measured[];
if (process.argv.includes("--save")) {
  const figures = Object.fromEntries(measured.map(({ name, size }) => [name, size]));
  writeFileSync(join(root, FILE), `${JSON.stringify(figures, undefined, 2)}\n`);
  const rows = measured.map(({ name, size }) => `| ${name} | ${(size / 1000).toFixed(1)} kB |`);
  const page = readFileSync(join(root, PAGE), "utf8");
  writeFileSync(
    join(root, PAGE),
    page.replace(TABLE, () => [TABLE_HEAD, "| --- | --- |", ...rows, ""].join("\n")),
  );
  execFileSync(join(root, "node_modules/.bin/biome"), ["format", "--write", PAGE], { cwd: root });
}
const base = figuresOfMain();
const longest = Math.max(...measured.map(({ name }) => name.length));
let tooLarge = 0;
for (const { name, size } of measured) {
  const before = base[name];
  const added =
    before === undefined ? "new" : `${size < before ? "" : "+"}${(size - before).toLocaleString("en")}`;
  const isTooLarge = before !== undefined && size > before * (1 + MOST_ADDED);
  if (isTooLarge) tooLarge += 1;
  console.log(
    [
      name.padEnd(longest),
      size.toLocaleString("en").padStart(9),
      added.padStart(8),
      isTooLarge ? "  too large" : "",
    ].join(""),
  );
}
if (tooLarge > 0) {
  console.error(`\n${tooLarge} figures are more than a tenth above those of main (bytes, gzip).`);
  process.exitCode = 1;
}

/** The figures where this branch left `main`; those of this tree where git or `main` is not there. */
function figuresOfMain(): Figures {
  for (const main of ["origin/main", "main"])
    try {
      const from = git("merge-base", "HEAD", main).trim();
      return JSON.parse(git("show", `${from}:${FILE}`)) as Figures;
    } catch {
      // the next one
    }
  return JSON.parse(readFileSync(join(root, FILE), "utf8")) as Figures;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
