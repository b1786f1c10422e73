import { spawnSync } from "node:child_process";

/*
 * pnpm check [name] [arguments]: one check of the repository. Without a name: types, style and unused, as an edit needs
 * them. `pnpm test` and `.ci/run` run all of them.
 */

const checks: Readonly<Record<string, readonly (readonly string[])[]>> = {
  /** Types of all packages, examples and tests. */
  types: [
    ["node", "packages/core/scripts/json-schemas.ts"],
    ["tsc", "-b", "--checkers", "1"],
  ],
  /** Format and rules of the code. */
  style: [["biome", "ci", "."]],
  /** The rules of React's compiler. */
  react: [
    [
      "eslint",
      "--max-warnings",
      "0",
      "packages/react/src",
      "examples/studio/src",
      "examples/studio/demo",
      "labs/registry",
      "labs/devtools/src",
    ],
  ],
  /** Files, exports and dependencies that nothing uses. */
  unused: [["knip"]],
  /** Wording, counts, names and source text, in one line; `--list` shows what does not hold. Fails on broken links only. */
  text: [["node", "scripts/check-text.ts"]],
  /** Subjects of commits that break Conventional Commits; takes a range. */
  commits: [["node", "scripts/check-commits.ts"]],
  /** A table of sizes, compared with the sizes of main. `--save` makes them the base. */
  size: [["node", "scripts/sizes.ts"]],
  /** The packed packages: manifests, types and sizes. */
  package: [["node", "scripts/package-check.ts"]],
  /** Writes the table of models into packages/core/AGENTS.md. */
  models: [
    ["pnpm", "--filter", "@sluice/core", "run", "build"],
    ["node", "scripts/model-list.ts"],
  ],
  /** All of a release but publishing. `--only <text>` runs some steps. */
  release: [["node", "scripts/release-check.ts"]],
};

// the checks see the tests of all tiers
delete process.env["SLUICE_TIER"];
const [name, ...rest] = process.argv.slice(2);
const names = name === undefined ? ["types", "style", "unused"] : [name];
for (const name of names) {
  const commands = checks[name];
  if (!commands) {
    console.error(`There is no check "${name}". There are ${Object.keys(checks).join(", ")}.`);
    process.exit(2);
  }
  for (const [command = "", ...args] of commands) {
    const { status, error } = spawnSync(command, [...args, ...rest], { stdio: "inherit" });
    if (error) console.error(`${command} can't be started: run this by npx -y pnpm@12.21.0 check ${name}`);
    if (status !== 0) process.exit(status ?? 1);
  }
}
