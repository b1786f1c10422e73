import { execFileSync, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { findChromium } from "../scripts/chromium.ts";
import { withQuote, withReport } from "./results.ts";
import type { Report } from "./topic.ts";

/*
 * pnpm bench [topic …]: installs the peers, measures the topics, each in a process of its own, and writes `RESULTS.md`
 * and the table that other pages quote from it. Without arguments it measures all topics.
 */

const topics =
  "stream runtimes large-frame http heap streams-at-once partial-json react poller sizes loaded proxy".split(
    " ",
  );
const quotes = ["../docs/performance.md"];
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const results = here("RESULTS.md");

const asked = process.argv.slice(2);
if (asked.join() === "studio") {
  execFileSync("npx", ["-y", "pnpm@12.21.0", "run", "build"], { stdio: "inherit" });
  execFileSync("node", [here("studio.ts")], { stdio: "inherit" });
  process.exit();
}
const unknown = asked.filter((name) => !topics.includes(name));
if (unknown.length > 0) throw new Error(`no topic ${unknown.join(", ")}: choose from ${topics.join(", ")}`);
run("npx", "-y", "pnpm@12.21.0", "install", "--dir", here("peers"), "--frozen-lockfile", "--prefer-offline");
const startedAt = Date.now();
for (const name of asked.length > 0 ? asked : topics) {
  const { title, ...report } = await measured(name);
  console.log(`\n## ${title}\n\n${report.markdown}`);
  const page = withReport(readFileSync(results, "utf8"), title, report, `pnpm bench ${name}`);
  writeFileSync(results, head() + page.slice(page.indexOf("\n\n## ")));
}
for (const file of quotes.map(here))
  writeFileSync(file, withQuote(readFileSync(file, "utf8"), readFileSync(results, "utf8")));
run("npx", "--no-install", "biome", "format", "--write", ...[...quotes, "RESULTS.md"].map(here));
console.log(`\n${Math.round((Date.now() - startedAt) / 1000)} s`);

function measured(name: string): Promise<Report & { readonly title: string }> {
  const child = fork(here("measure.ts"), [name], { execArgv: ["--expose-gc"] });
  return new Promise((resolve, reject) => {
    child.on("message", (report) => resolve(report as Report & { readonly title: string }));
    child.on("exit", (code) => reject(new Error(`${name} has ended with ${code}`)));
  });
}

/** The machine, the day and the versions. */
function head(): string {
  const { dependencies } = JSON.parse(readFileSync(here("peers/package.json"), "utf8"));
  const versions = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
  const chromium = run(findChromium() ?? "chromium", "--version").trim();
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB`;
  const rounds = process.env["BENCH_ROUNDS"];
  const tried = rounds ? ` **This was a trial with BENCH_ROUNDS=${rounds}: its figures mean little.**` : "";
  return `# Results

Written by \`pnpm bench\` on ${new Date().toISOString().slice(0, 10)}. [README.md](README.md) says how to read and repeat it. Each figure is a median, with the quartiles in brackets.${tried}

- Machine: ${machine}, ${process.platform}
- Runtimes: Node ${process.version.slice(1)}, ${chromium}
- Peers: ${versions.join(", ")}`;
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
