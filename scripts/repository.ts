import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * Puts the repository's account and name into all files: `node scripts/repository.ts <account>/<repository>`. The root's
 * package.json says where the repository was before. Without an argument it only copies that into each package's manifest,
 * where the registry and the signed provenance of a release read it.
 */

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(root, path), text);
const rootManifest = () => JSON.parse(read("package.json"));

const [next] = process.argv.slice(2);
if (next !== undefined) rename(next);
const { repository, bugs, homepage } = rootManifest();
const [page] = homepage.split("#");
for (const name of readdirSync(join(root, "packages"))) {
  const path = `packages/${name}/package.json`;
  const manifest = {
    ...JSON.parse(read(path)),
    homepage: `${page}/tree/main/packages/${name}#readme`,
    repository: { ...repository, directory: `packages/${name}` },
    bugs,
  };
  write(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

function rename(next: string): void {
  if (!/^[\w.-]+\/[\w.-]+$/.test(next))
    throw new Error(`"${next}" is no repository: give <account>/<repository>`);
  const [, before = ""] = /github\.com\/([^/]+\/[^/]+)\.git$/.exec(rootManifest().repository.url) ?? [];
  const files = execFileSync("git", ["grep", "-lzI", "--fixed-strings", before], {
    cwd: root,
    encoding: "utf8",
  });
  for (const path of files.split("\0").filter(Boolean)) write(path, read(path).replaceAll(before, next));
}
