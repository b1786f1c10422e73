import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * Measures what a bundler makes of one import (`.size-limit.json`), and prints a table of the figures of this branch and
 * of what it adds to those of `main`. It refuses nothing: a reviewer reads it.
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
/** A figure that grows by more than this part is marked. */
const MARKED = 0.1;

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
for (const { name, size } of measured) {
  const before = base[name];
  const added =
    before === undefined ? "new" : `${size < before ? "" : "+"}${(size - before).toLocaleString("en")}`;
  const mark = before !== undefined && size > before * (1 + MARKED) ? "  more than a tenth" : "";
  console.log(
    [name.padEnd(longest), size.toLocaleString("en").padStart(9), added.padStart(8), mark].join(""),
  );
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
