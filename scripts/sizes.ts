import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * Measures the bundle of each import (`.size-limit.json`), and prints a table of this branch's figures and their
 * difference from `main`. It never fails: a reviewer reads the table.
 *
 *   --save   writes the figures into scripts/sizes.json, the base of the table, and into docs/performance.md
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
/** Relative growth above which a figure is marked. */
const MARKED_GROWTH = 0.1;

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
const base = readFiguresOfMain();
const longest = Math.max(...measured.map(({ name }) => name.length));
for (const { name, size } of measured) {
  const before = base[name];
  const added =
    before === undefined ? "new" : `${size < before ? "" : "+"}${(size - before).toLocaleString("en")}`;
  const mark = before !== undefined && size > before * (1 + MARKED_GROWTH) ? "  more than a tenth" : "";
  console.log(
    [name.padEnd(longest), size.toLocaleString("en").padStart(9), added.padStart(8), mark].join(""),
  );
}

/** Returns the figures of the merge base with `main`, or of this tree without git or `main`. */
function readFiguresOfMain(): Figures {
  for (const main of ["origin/main", "main"])
    try {
      const from = runGit("merge-base", "HEAD", main).trim();
      return JSON.parse(runGit("show", `${from}:${FILE}`)) as Figures;
    } catch {
      // try the next branch name
    }
  return JSON.parse(readFileSync(join(root, FILE), "utf8")) as Figures;
}

function runGit(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
