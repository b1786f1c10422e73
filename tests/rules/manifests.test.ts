import { execFileSync } from "node:child_process";
import { cpSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe.each(globSync("packages/*/package.json", { cwd: root }))("%s", (path) => {
  const manifest = JSON.parse(read(path));

  test("has the license and the engines that an install checks, and the fields that a registry shows", () => {
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/\.$/),
      keywords: expect.arrayContaining([expect.any(String)]),
      license: "MIT",
      engines: { node: ">=22" },
    });
  });
});

describe("a release", () => {
  const copy = createTemporaryFolder("release");
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, ["scripts/repository.ts", ...args], {
      cwd: copy,
      env: { ...process.env, GITHUB_REPOSITORY: "" },
      stdio: "pipe",
    });
  for (const path of globSync(
    ["package.json", "packages/*/{package.json,README.md}", "scripts/repository.ts"],
    { cwd: root },
  ))
    cpSync(join(root, path), join(copy, path));

  test("names the repository in each manifest, and leads the links of the READMEs there", () => {
    run("acme/sluice");
    for (const path of globSync("packages/*/package.json", { cwd: copy })) {
      const folder = path.replace("/package.json", "");
      expect(JSON.parse(readFileSync(join(copy, path), "utf8"))).toMatchObject({
        // npm refuses a provenance with another repository than the package
        repository: { type: "git", url: "git+https://github.com/acme/sluice.git", directory: folder },
        homepage: `https://github.com/acme/sluice/tree/main/${folder}#readme`,
        bugs: { url: "https://github.com/acme/sluice/issues" },
      });
      const links = [...readFileSync(join(copy, folder, "README.md"), "utf8").matchAll(/\]\(([^)\s]+)/g)];
      expect(links.filter(([, link = ""]) => !/^(https:\/\/|#)/.test(link)).map(([, link]) => link)).toEqual(
        [],
      );
    }
  });

  test("refuses to start without the repository's name", () => {
    expect(() => run()).toThrow("Name the repository");
  });
});
