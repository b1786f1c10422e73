import { join } from "node:path";
import { parseArgs } from "node:util";
import { pnpm, run } from "../../scripts/tarballs.ts";
import { behaviours } from "./behaviours/index.js";
import { bundlers, installForBundlers, tryBundler } from "./bundlers.ts";
import { compile, copyProgram, settings, typescripts } from "./compilers.ts";
import { checkForJSR, checkWithDeno, installEverywhere, type Outcome } from "./installs.ts";
import { nextVersion } from "./next.ts";
import { type Row, tableUnder, writeTable } from "./page.ts";
import { buildPage, servePages } from "./pages.ts";
import { type Platform, platforms, type Report } from "./platforms.ts";
import { installProject, packInto, temporaryFolder } from "./project.ts";
import { startServers } from "./servers.ts";

/*
 * Runs the packed packages everywhere, and writes the tables of `docs/supported-platforms.md`. Build first. Needs the npm
 * registry. A platform that this machine lacks is skipped, with what to install.
 *
 *   --only platforms | bundlers | types | installs   runs one part
 *   --platform <text>                  runs the platforms with this text in their name; the other rows stay
 *   --typescript <version>             compiles with one TypeScript; the other rows stay
 */

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    platform: { type: "string", default: "" },
    typescript: { type: "string", default: "" },
  },
});
const date = new Date().toISOString().slice(0, 10);
const folder = temporaryFolder();
const names = Object.keys(behaviours);
const hooks = ["useChatStream", "useImages", "useVideoTask"];

run(["npx", "-y", pnpm, "install", "--dir", join(import.meta.dirname, "tools"), "--frozen-lockfile"], folder);
const tarballs = packInto(join(folder, "tarballs"));
const app = join(folder, "app");
installProject(app, tarballs, {
  next: nextVersion,
  "react-dom": "^19.0.0",
  "@types/node": "^24.0.0",
  "@types/react": "^19.0.0",
});

if (wants("platforms")) await runPlatforms();
if (wants("bundlers")) await runBundlers();
if (wants("types")) runTypes();
if (wants("installs")) runInstalls();

function wants(part: string): boolean {
  return values.only === "" || values.only === part;
}

async function runPlatforms(): Promise<void> {
  const pages = await servePages(app);
  const servers = await startServers(app, pages.url);
  await buildPage(app);
  const chosen = platforms.filter(({ name }) => name.includes(values.platform));
  const rows: Row[] = [];
  const hookRows: Row[] = [];
  try {
    for (const platform of chosen) {
      const report = await runPlatform(platform, () => platform.run({ folder: app, servers, pages }));
      const title = `${platform.name} ${platform.version() ?? ""}`.trim();
      rows.push([title, platform.how, formatResult(report, names, platform)]);
      if (platform.hasHooks) hookRows.push([title, "19", formatResult(report, hooks, platform)]);
    }
    const browsers = platforms.filter(
      ({ how }) => how === "built with Vite" && chosen.some((one) => one.how === how),
    );
    hookRows.push(...(await runOnReact18(browsers)));
  } finally {
    servers.close();
    pages.close();
  }
  writeTable("Runtimes", ["platform", "how", "result"], joined("Runtimes", rows), date);
  writeTable("React", ["platform", "React", "result"], joined("React", hookRows), date);
}

/** Returns the rows of a table. Rows of platforms that were not chosen stay unchanged. */
function joined(heading: string, rows: readonly Row[]): readonly Row[] {
  if (values.platform === "") return rows;
  const [, ...before] = tableUnder(heading);
  const toKey = ([title = "", how]: Row) => `${title.replace(/ [\d.]+\w*$/, "")}, ${how}`;
  const known = new Map([...before, ...rows].map((row) => [toKey(row), row]));
  const order = platforms.map(({ name, how }) => `${name}, ${how}`);
  return [...known].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)).map(([, row]) => row);
}

/** Runs the same page with React 18.3, in a separate project. */
async function runOnReact18(browsers: readonly Platform[]): Promise<Row[]> {
  if (browsers.length === 0) return [];
  const folder18 = join(folder, "react-18");
  installProject(folder18, tarballs, { react: "^18.3.0", "react-dom": "^18.3.0" });
  const pages = await servePages(folder18);
  const servers = await startServers(folder18, pages.url);
  await buildPage(folder18);
  const rows: Row[] = [];
  try {
    for (const platform of browsers.filter(({ name }) => name.includes(values.platform))) {
      const report = await runPlatform(platform, () => platform.run({ folder: folder18, servers, pages }));
      rows.push([
        `${platform.name} ${platform.version() ?? ""}`.trim(),
        "18.3",
        formatResult(report, hooks, platform),
      ]);
    }
    return rows;
  } finally {
    servers.close();
    pages.close();
  }
}

async function runBundlers(): Promise<void> {
  const rows: Row[] = [];
  const bundled = join(folder, "bundled");
  installForBundlers(bundled, tarballs);
  for (const name of Object.keys(bundlers)) {
    const tried = await tryBundler(name, bundled);
    const { version, warnings, problem } = tried;
    const firstLines = warnings.map((text) => text.split("\n")[0]);
    rows.push([name, version, firstLines.join("; ") || "none", printResult(name, problem)]);
  }
  writeTable("Bundlers", ["bundler", "version", "warnings", "page under a strict policy"], rows, date);
}

/** Runs a platform, and prints the result; undefined where this machine lacks it. */
async function runPlatform(platform: Platform, work: () => Promise<Report>): Promise<Report | undefined> {
  const title = `${platform.name}, ${platform.how}`;
  if (platform.version() === undefined) {
    console.log(`skipped  ${title}: install ${platform.needs}`);
    return undefined;
  }
  const results = await work().catch((error): Report => [{ name: "all", problem: String(error) }]);
  const report = platform.readsAhead ? results.filter(({ name }) => name !== "backpressure") : results;
  const problems = report.filter(({ problem }) => problem !== undefined);
  console.log(`${problems.length === 0 ? "ok     " : "FAILED "}  ${title}`);
  for (const { name, problem } of problems) {
    console.log(`  ${name}: ${problem}`);
    process.exitCode = 1;
  }
  return report;
}

/** Formats the results of a platform for one cell of a table. */
function formatResult(
  report: Report | undefined,
  names: readonly string[],
  { readsAhead }: Platform,
): string {
  if (!report) return "not run";
  const failed = names.filter((name) => {
    const result = report.find((one) => one.name === name);
    return result ? result.problem !== undefined : !(readsAhead && name === "backpressure");
  });
  if (failed.length > 0) return `failed: ${failed.join(", ")}`;
  return readsAhead && names.includes("backpressure") ? "✓, reads ahead" : "✓";
}

/** Writes each row immediately, because all rows together need ten minutes of CPU. */
function runTypes(): void {
  copyProgram(app);
  const [, ...before] = tableUnder("TypeScript");
  const rows = new Map(typescripts.map((name) => [name, [name, "not run"]]));
  for (const row of before) for (const name of typescripts) if (row[0]?.startsWith(name)) rows.set(name, row);
  for (const name of typescripts.filter((name) => ["", name].includes(values.typescript))) {
    const { version, problems } = compile(app, name);
    const cells = settings.map((setting, at) =>
      printResult(`TypeScript ${version}, ${setting}`, problems[at]),
    );
    rows.set(name, [version, cells.every((cell) => cell === "✓") ? "✓" : "failed"]);
    writeTable("TypeScript", ["TypeScript", "result"], [...rows.values()], date);
  }
}

function runInstalls(): void {
  const outcomes = [...installEverywhere(folder, tarballs), checkWithDeno(app), checkForJSR(folder)];
  writeTable("Package managers and JSR", ["tool", "version", "result"], outcomes.map(toRow), date);
}

function toRow({ name, version, problem }: Outcome): Row {
  return [name, version, printResult(name, problem)];
}

/** Prints a result, and returns its cell. A result without a problem is fine. */
function printResult(name: string, problem: string | undefined): string {
  console.log(`${problem ? "FAILED " : "ok     "}  ${name}${problem ? `\n${problem.slice(0, 3000)}` : ""}`);
  if (problem) process.exitCode = 1;
  return problem ? "failed" : "✓";
}
