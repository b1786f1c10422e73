import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/*
 * Copies the address of the repository from the root's package.json into each package's, where the registry and the
 * signed provenance of a release read it. Run it after the address has changed: `node scripts/repository.ts`.
 */

const root = new URL("../", import.meta.url);
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), "utf8"));
const { repository, bugs, homepage } = read("package.json");
const [page] = homepage.split("#");

for (const name of readdirSync(new URL("packages/", root))) {
  const path = `packages/${name}/package.json`;
  const manifest = {
    ...read(path),
    homepage: `${page}/tree/main/packages/${name}#readme`,
    repository: { ...repository, directory: `packages/${name}` },
    bugs,
  };
  writeFileSync(new URL(path, root), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
