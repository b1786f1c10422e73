import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * The packages as a user gets them: packed, and installed in a fresh project by a package manager.
 */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** A package manager: its commands, and how it runs Node. */
export interface Manager {
  readonly name: string;
  readonly install: readonly string[];
  readonly version: readonly string[];
  readonly node: readonly string[];
}

const root = join(import.meta.dirname, "..");
const runtimes = join(root, "packages/worker-proxy/node_modules/.bin");
export const pnpm = `pnpm@${/pnpm@([\d.]+)/.exec(readFileSync(join(root, "CONTRIBUTING.md"), "utf8"))?.[1]}`;
const yarn = "@yarnpkg/cli-dist@4.18.1";

const manifests = globSync("packages/*/package.json", { cwd: root }).map(
  (path): Manifest => JSON.parse(readFileSync(join(root, path), "utf8")),
);

/** Every entry that code can import. */
export const entries = manifests.flatMap(({ name, exports = {} }) =>
  Object.keys(exports)
    .filter((entry) => !entry.endsWith(".json"))
    .map((entry) => name + entry.slice(1)),
);

/** Deno's own `install` does not support tarballs. */
export const managers: readonly Manager[] = [
  {
    name: "npm",
    install: ["npm", "install", "--no-audit", "--no-fund"],
    version: ["npm", "--version"],
    node: ["node"],
  },
  {
    name: "pnpm",
    install: ["npx", "-y", pnpm, "install"],
    version: ["npx", "-y", pnpm, "--version"],
    node: ["node"],
  },
  {
    name: "Yarn",
    install: ["npx", "-y", yarn, "install"],
    version: ["npx", "-y", yarn, "--version"],
    node: ["npx", "-y", yarn, "node"],
  },
  {
    name: "Bun",
    install: [join(runtimes, "bun"), "install"],
    version: [join(runtimes, "bun"), "--version"],
    node: [join(runtimes, "bun")],
  },
];

/** Packs the built packages as a release does: with versions instead of `workspace:` and `catalog:`. */
export function pack(folder: string): ReadonlyMap<string, string> {
  run(["npx", "-y", pnpm, "-r", "--filter", "./packages/*", "pack", "--pack-destination", folder], root);
  return new Map(
    manifests.map(({ name, version }) => [
      name,
      join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`),
    ]),
  );
}

/** Returns the bytes of all files of a tarball. */
export function readUnpackedSize(tarball: string): number {
  const lines = execFileSync("tar", ["-tvzf", tarball], { encoding: "utf8" }).trim().split("\n");
  return lines.reduce((sum, line) => sum + Number(/ (\d+) \d{4}-/.exec(line)?.[1]), 0);
}

/** Peers of `ai` that the app must install. Yarn installs no peer that the app does not name. */
const peersOfPeers = { zod: "^4.1.8" };

/** Lists the peers that an app must install. Some entries need them, so a project that imports everything has them. */
function listPeers(tarballs: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const readManifest = (tarball: string): Manifest =>
    JSON.parse(execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" }));
  return Object.assign(
    {},
    ...[...tarballs.values()].map((tarball) => readManifest(tarball).peerDependencies),
  );
}

/** Writes the files of a fresh project that depends on the tarballs, for any of the managers. */
export function writeProject(
  folder: string,
  tarballs: ReadonlyMap<string, string>,
  dependencies: Readonly<Record<string, string>> = {},
): void {
  mkdirSync(folder, { recursive: true });
  const ours = Object.fromEntries([...tarballs].map(([own, path]) => [own, `file:${path}`]));
  const project = {
    name: "fresh",
    private: true,
    type: "module",
    dependencies: { ...listPeers(tarballs), ...peersOfPeers, ...ours, ...dependencies },
    // the packages depend on each other, and no registry has them yet
    overrides: ours,
    resolutions: ours,
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(project, undefined, 2));
  const overrides = Object.entries(ours).map(([own, path]) => `  "${own}": "${path}"\n`);
  writeFileSync(join(folder, "pnpm-workspace.yaml"), `overrides:\n${overrides.join("")}`);
}

/** Runs a command, and returns its output. A failed command throws an error with its output. */
export function run(
  [command = "", ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    encoding: "utf8",
    maxBuffer: 64_000_000,
  });
  if (error) throw error;
  const printed = (stdout + stderr).trim();
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${printed.slice(-3000)}`);
  return printed;
}

/** Creates the settings of Yarn, which ignores npm's: no lockfile, and nothing shared with this machine. */
export function createYarnSettings(folder: string): NodeJS.ProcessEnv {
  const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  return {
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
    YARN_ENABLE_TELEMETRY: "0",
    YARN_GLOBAL_FOLDER: join(folder, "yarn-global"),
  };
}
