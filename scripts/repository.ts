import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";

/*
 * Writes the repository's URL into the manifests and the READMEs of the packages, where registries read it:
 *
 *   node scripts/repository.ts [account/repository]
 *
 * GitHub Actions passes the argument as GITHUB_REPOSITORY. A release runs this; the files on main have no URL.
 */

const root = join(import.meta.dirname, "..");
const [name = process.env["GITHUB_REPOSITORY"]] = process.argv.slice(2);
if (!name || !/^[\w.-]+\/[\w.-]+$/.test(name))
  throw new Error("Name the repository: node scripts/repository.ts <account>/<repository>");

const page = `https://github.com/${name}`;
const repository = { type: "git", url: `git+${page}.git` };
write("package.json", { homepage: `${page}#readme`, repository, bugs: { url: `${page}/issues` } });
for (const folder of readdirSync(join(root, "packages"))) {
  const packagePath = `packages/${folder}`;
  write(`${packagePath}/package.json`, {
    homepage: `${page}/tree/main/${packagePath}#readme`,
    repository: { ...repository, directory: packagePath },
    bugs: { url: `${page}/issues` },
  });
  // a registry shows the README without its neighboring files
  const readme = join(root, packagePath, "README.md");
  const toAbsolute = (_: string, path: string) => `](${page}/blob/main/${posix.join(packagePath, path)})`;
  writeFileSync(readme, readFileSync(readme, "utf8").replace(/\]\((\.\.?\/[^)\s]+)\)/g, toAbsolute));
}

function write(path: string, fields: object): void {
  const manifest = { ...JSON.parse(readFileSync(join(root, path), "utf8")), ...fields };
  writeFileSync(join(root, path), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
