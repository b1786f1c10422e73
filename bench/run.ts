import { execFileSync, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { findChromium } from "../scripts/chromium.ts";
import { updateSummary } from "./results.ts";
import type { Report } from "./topic.ts";

/*
 * pnpm bench [topic …]: installs the peers, measures each topic in a separate process, prints the tables, and
 * writes the summary into docs/performance.md. Without arguments it measures all topics.
 */

const topics =
  "stream runtimes large-frame http heap streams-at-once partial-json react poller sizes loaded proxy".split(
    " ",
  );
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const page = here("../docs/performance.md");

const requested = process.argv.slice(2);
if (requested.join() === "studio") {
  execFileSync("npx", ["-y", "pnpm@12.21.0", "run", "build"], { stdio: "inherit" });
  execFileSync("node", [here("studio.ts")], { stdio: "inherit" });
  process.exit();
}
const unknown = requested.filter((name) => !topics.includes(name));
if (unknown.length > 0) throw new Error(`no topic ${unknown.join(", ")}: choose from ${topics.join(", ")}`);
run("npx", "-y", "pnpm@12.21.0", "install", "--dir", here("peers"), "--frozen-lockfile", "--prefer-offline");
const startedAt = Date.now();
for (const name of requested.length > 0 ? requested : topics) {
  const { title, markdown, summary = [] } = await measured(name);
  console.log(`\n## ${title}\n\n${markdown}`);
  const text = updateSummary(readFileSync(page, "utf8"), summary, `pnpm bench ${name}`);
  writeFileSync(
    page,
    text.replace(/^Measured on .*$/m, () => describeRun()),
  );
}
run("npx", "--no-install", "biome", "format", "--write", page);
console.log(`\n${Math.round((Date.now() - startedAt) / 1000)} s`);

function measured(name: string): Promise<Report & { readonly title: string }> {
  const child = fork(here("measure.ts"), [name], { execArgv: ["--expose-gc"] });
  return new Promise((resolve, reject) => {
    child.on("message", (report) => resolve(report as Report & { readonly title: string }));
    child.on("exit", (code) => reject(new Error(`${name} has ended with ${code}`)));
  });
}

/** The day, the machine and the runtimes. */
function describeRun(): string {
  const chromium = run(findChromium() ?? "chromium", "--version")
    .replace(/ built on .*/s, "")
    .trim();
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform}`;
  const rounds = process.env["BENCH_ROUNDS"];
  const note = rounds ? ` This was a trial with BENCH_ROUNDS=${rounds}: its figures mean little.` : "";
  return `Measured on ${new Date().toISOString().slice(0, 10)}: ${machine}, Node ${process.version.slice(1)}, ${chromium}.${note}`;
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
