import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { layOutForJSR } from "./jsr.ts";
import { isNewestPage, licencePage } from "./licences.ts";
import { entries, type Manager, managers, pack, pnpm, run, writeProject, yarnSettings } from "./tarballs.ts";

/*
 * Does all of a release but publishing: builds, checks and packs the packages, lets JSR check them, and installs the
 * tarballs in fresh projects with npm, pnpm, Yarn and Bun, where each entry is imported. Needs the npm registry.
 *
 *   --no-build      uses the packages as they are built
 *   --only <text>   runs the steps whose name has this text
 */

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: { "no-build": { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const bin = join(root, "packages/worker-proxy/node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const PLACEHOLDER = "YOUR-ACCOUNT";
/** Tarball of each package, by name. */
let tarballs: ReadonlyMap<string, string> | undefined;

/** The most that each tarball may have: a tenth above what it has. More needs a reason, and a change here. */
const most: Readonly<Record<string, { readonly files: number; readonly bytes: number }>> = {
  "@sluice/core": { files: 760, bytes: 825_000 },
  "@sluice/react": { files: 170, bytes: 136_000 },
  "@sluice/worker-proxy": { files: 185, bytes: 275_000 },
  "@sluice/durable": { files: 130, bytes: 375_000 },
  "@sluice/ai-sdk": { files: 95, bytes: 80_000 },
  "@sluice/emulator": { files: 320, bytes: 245_000 },
  "@sluice/mcp": { files: 105, bytes: 63_000 },
  "@sluice/otel": { files: 50, bytes: 40_000 },
  "create-sluice": { files: 70, bytes: 20_000 },
};

/** Each step; `usesTarballs` is true for those after the packing. */
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
  const problem = problemOf(() => {
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

function problemOf(step: () => void): string | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Looks for the words that stand in place of the account and the repository until they are known. */
function checkAddress(): void {
  const { url } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).repository;
  if (url.includes(PLACEHOLDER))
    throw new Error("the repository has no address yet: node scripts/repository.ts <account>/<repository>");
  const { stdout } = spawnSync("git", ["grep", "-lI", PLACEHOLDER, "--", ":!scripts/release-check.ts"], {
    cwd: root,
    encoding: "utf8",
  });
  const left = stdout.split("\n").filter(Boolean);
  if (left.length > 0) throw new Error(`${PLACEHOLDER} is left in ${left.join(", ")}`);
}

/** Applies the changesets to a copy of the manifests. Without changesets, as after a release, there is nothing to apply. */
function checkVersions(): void {
  const changesets = globSync(".changeset/*.md", { cwd: root, exclude: ["**/README.md"] });
  if (changesets.length === 0) return;
  const at = join(folder, "versions");
  const files = [
    "package.json",
    "pnpm-workspace.yaml",
    ".changeset/*",
    "packages/*/{package.json,CHANGELOG.md}",
  ];
  for (const file of globSync(files, { cwd: root })) cpSync(join(root, file), join(at, file));
  run([join(root, "node_modules/.bin/changeset"), "version"], at);
  for (const file of changesets) {
    const [, names = ""] = /^---\n(.*?)\n---/s.exec(readFileSync(join(root, file), "utf8")) ?? [];
    for (const [, name = ""] of names.matchAll(/"(.+?)":/g)) {
      const changelog = join(at, "packages", name.replace("@sluice/", ""), "CHANGELOG.md");
      if (globSync(changelog).length === 0) throw new Error(`${file}: ${name} got no changelog`);
    }
  }
}

function checkJSR(): void {
  const at = join(folder, "jsr");
  layOutForJSR(at);
  run([join(bin, "deno"), "publish", "--dry-run", "--allow-dirty"], at);
}

function checkLicences(): void {
  const { refused } = licencePage();
  if (refused.length > 0) throw new Error(`licences that are not accepted: ${refused.join(", ")}`);
  if (!isNewestPage()) throw new Error("LICENCES.md is old: run node scripts/licences.ts");
}

/**
 * Looks for files that nobody needs. Sources are there once, in the maps; docs once, in one package; and the texts of
 * the reference once, in the declarations.
 */
function checkContents(): void {
  const problems: string[] = [];
  const pages = new Map<string, string>();
  for (const [name, tarball] of tarballs ?? []) {
    const at = join(folder, "contents", name);
    mkdirSync(at, { recursive: true });
    execFileSync("tar", ["-xzf", tarball, "-C", at]);
    const files = globSync("package/**/*.*", { cwd: at }).map((file) => file.slice("package/".length));
    const unneeded = files.filter((file) =>
      /\.(?:test|spec)\.|tsbuildinfo|\.tgz$|^test\/|\.env|\.d\.ts\.map$|^src\/|^docs\/reference\/(?!errors)/.test(
        file,
      ),
    );
    const bare = files.filter(
      (file) =>
        file.endsWith(".map") &&
        !readFileSync(join(at, "package", file), "utf8").includes('"sourcesContent"'),
    );
    const repeated = files.filter((file) => file.startsWith("docs/") && pages.has(file));
    for (const file of files) if (file.startsWith("docs/")) pages.set(file, name);
    const { size } = statSync(tarball);
    const bound = most[name];
    if (!bound || files.length > bound.files || size > bound.bytes)
      problems.push(
        `${name}: has ${files.length} files and ${size} bytes, more than ${JSON.stringify(bound)}`,
      );
    const missing = ["README.md", "package.json", "LICENSE"].filter(
      (file) => globSync(join(at, "package", file)).length === 0,
    );
    problems.push(
      ...unneeded.map((file) => `${name}: ${file} is not needed`),
      ...bare.map((file) => `${name}: ${file} has no sources, and the tarball has none beside it`),
      ...repeated.map((file) => `${name}: ${file} is in ${pages.get(file)}, too`),
      ...missing.map((file) => `${name}: ${file} is missing`),
    );
    const ranges = readFileSync(join(at, "package/package.json"), "utf8");
    if (/"(?:workspace|catalog):/.test(ranges)) problems.push(`${name}: a version is that of the workspace`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Installs the tarballs in a fresh project, and imports each entry there. */
function install({ name, install, node }: Manager): void {
  const at = join(folder, name);
  writeProject(at, tarballs ?? new Map());
  const code = `for (const name of ${JSON.stringify(entries)}) {
  const names = Object.keys(await import(name));
  if (names.length === 0) throw new Error(name + " exports nothing");
}
`;
  writeFileSync(join(at, "import.mjs"), code);
  run(install, at, yarnSettings(folder));
  run([...node, "import.mjs"], at, yarnSettings(folder));
}
