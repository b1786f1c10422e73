import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/* The root's package.json alone decides where the repository is. `node scripts/repository.ts` copies it. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const { repository, bugs } = JSON.parse(read("package.json"));
const page = repository.url.replace(/^git\+|\.git$/g, "");

describe.each(globSync("packages/*/package.json", { cwd: root }))("%s", (path) => {
  const folder = path.replace("/package.json", "");
  const manifest = JSON.parse(read(path));

  // npm refuses a provenance whose repository is not that of the package
  test("names the repository, its folder, its page and its issues", () => {
    expect(manifest).toMatchObject({
      repository: { ...repository, directory: folder },
      homepage: `${page}/tree/main/${folder}#readme`,
      bugs,
    });
  });

  test("has the license and the engines that an install checks, and the fields that a registry shows", () => {
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/\.$/),
      keywords: expect.arrayContaining([expect.any(String)]),
      license: "MIT",
      engines: { node: ">=22" },
    });
  });
});
