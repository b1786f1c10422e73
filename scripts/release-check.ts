import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeForJSR } from "./jsr.ts";
import { createLicencePage } from "./licences.ts";
import { readOptions } from "./options.ts";
import {
  createYarnSettings,
  entries,
  type Manager,
  managers,
  pack,
  pnpm,
  run,
  writeProject,
} from "./tarballs.ts";

/*
 * Does everything of a release except publishing: builds, checks and packs the packages, lets JSR check them, and
 * installs the tarballs in fresh projects with npm, pnpm, Yarn and Bun, which import each entry. Needs the npm
 * registry.
 *
 *   --no-build      uses the existing build
 *   --only <text>   runs the steps whose name contains this text
 */

const root = join(import.meta.dirname, "..");
const { values } = readOptions({
  options: { "no-build": { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const bin = join(root, "packages/worker-proxy/node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Tarball of each package, by name. */
let tarballs: ReadonlyMap<string, string> | undefined;

/** All steps. `usesTarballs` is true for the steps after packing. */
const steps: readonly (readonly [name: string, run: () => void, usesTarballs?: boolean])[] = [
  [
    "build",
    () =>
      values["no-build"] || run(["npx", "-y", pnpm, "-r", "--filter", "./packages/*", "run", "build"], root),
  ],
  ["the repository has its address", checkAddress],
  ["versions and changelogs", checkVersions],
  ["publint and attw", () => run(["npx", "-y", pnpm, "check", "package"], root)],
  ["JSR", checkJSR],
  ["licences", checkLicences],
  ["tarballs have what is needed", checkContents, true],
  ...managers.map((manager): [string, () => void, boolean] => [
    `install with ${manager.name}`,
    () => install(manager),
    true,
  ]),
];
const chosen = steps.filter(([name]) => name.toLowerCase().includes(values.only.toLowerCase()));

let passed = 0;
let failed = 0;
for (const [name, step, usesTarballs = false] of chosen) {
  const start = performance.now();
  const problem = describeProblem(() => {
    if (usesTarballs) tarballs ??= pack(folder);
    step();
  });
  if (problem === undefined) passed++;
  else failed++;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${problem === undefined ? "ok    " : "FAILED"} ${name}  ${seconds} s`);
  if (problem !== undefined) console.log(problem.replace(/^/gm, "       "));
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

function describeProblem(step: () => void): string | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A release writes the repository's URL into the manifests. */
function checkAddress(): void {
  const manifests = ["package.json", ...globSync("packages/*/package.json", { cwd: root })];
  const bare = manifests.filter((path) => !JSON.parse(readFileSync(join(root, path), "utf8")).repository);
  if (bare.length > 0)
    throw new Error(`no repository in ${bare.join(", ")}: node scripts/repository.ts <account>/<repository>`);
}

/** Applies the changesets to a copy of the manifests. Without changesets, as after a release, there is nothing to apply. */
function checkVersions(): void {
  const changesets = globSync(".changeset/*.md", { cwd: root, exclude: ["**/README.md"] });
  if (changesets.length === 0) return;
  const target = join(folder, "versions");
  const files = [
    "package.json",
    "pnpm-workspace.yaml",
    ".changeset/*",
    "packages/*/{package.json,CHANGELOG.md}",
  ];
  for (const file of globSync(files, { cwd: root })) cpSync(join(root, file), join(target, file));
  run([join(root, "node_modules/.bin/changeset"), "version"], target);
  for (const file of changesets) {
    const [, names = ""] = /^---\n(.*?)\n---/s.exec(readFileSync(join(root, file), "utf8")) ?? [];
    for (const [, name = ""] of names.matchAll(/"(.+?)":/g)) {
      const changelog = join(target, "packages", name.replace("@sluice/", ""), "CHANGELOG.md");
      if (globSync(changelog).length === 0) throw new Error(`${file}: ${name} got no changelog`);
    }
  }
}

function checkJSR(): void {
  const target = join(folder, "jsr");
  writeForJSR(target);
  run([join(bin, "deno"), "publish", "--dry-run", "--allow-dirty"], target);
}

function checkLicences(): void {
  const { refused } = createLicencePage();
  if (refused.length > 0) throw new Error(`licences that are not accepted: ${refused.join(", ")}`);
}

/**
 * Looks for unneeded files: sources, source maps, docs.
 */
function checkContents(): void {
  const problems: string[] = [];
  for (const [name, tarball] of tarballs ?? []) {
    const target = join(folder, "contents", name);
    mkdirSync(target, { recursive: true });
    execFileSync("tar", ["-xzf", tarball, "-C", target]);
    const files = globSync("package/**/*.*", { cwd: target }).map((file) => file.slice("package/".length));
    const unneeded = files.filter((file) =>
      /\.(?:test|spec)\.|tsbuildinfo|\.tgz$|^test\/|\.env|^src\/|^docs\/|\.map$/.test(file),
    );
    const missing = ["README.md", "package.json", "LICENSE"].filter(
      (file) => globSync(join(target, "package", file)).length === 0,
    );
    problems.push(
      ...unneeded.map((file) => `${name}: ${file} is not needed`),
      ...missing.map((file) => `${name}: ${file} is missing`),
    );
    const ranges = readFileSync(join(target, "package/package.json"), "utf8");
    if (/"(?:workspace|catalog):/.test(ranges)) problems.push(`${name}: a version is that of the workspace`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Installs the tarballs in a fresh project, and imports each entry there. */
function install({ name, install, node }: Manager): void {
  const target = join(folder, name);
  writeProject(target, tarballs ?? new Map());
  const code = `for (const name of ${JSON.stringify(entries)}) {
  const names = Object.keys(await import(name));
  if (names.length === 0) throw new Error(name + " exports nothing");
}
`;
  writeFileSync(join(target, "import.mjs"), code);
  run(install, target, createYarnSettings(folder));
  run([...node, "import.mjs"], target, createYarnSettings(folder));
}
