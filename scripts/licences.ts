import { globSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/*
 * Lists the licences of everything that an install of our packages installs, including optional peers: `node
 * scripts/licences.ts` prints the table.
 */

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Row {
  readonly name: string;
  readonly licence: string;
  /** Our packages that depend on it. */
  readonly users: readonly string[];
}

const root = join(import.meta.dirname, "..");

/** Accepted licences. The Unlicense gives a work to the public without conditions. */
const accepted = ["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Unlicense", "MPL-2.0"];

/** Returns the page, and the names of packages without an accepted licence. */
export function createLicencePage(): { readonly page: string; readonly refused: readonly string[] } {
  const all = formatRows();
  const lines = all.map(({ name, licence, users }) => `| \`${name}\` | ${licence} | ${users.join(", ")} |`);
  const page = `# Licences

Everything that an install of the packages brings, optional peers included. All of Sluice is MIT.

| package | licence | brought by |
| --- | --- | --- |
${lines.join("\n")}
`;
  const refused = all.filter(({ licence }) => !isAccepted(licence)).map(({ name }) => name);
  return { page, refused };
}

/** Of alternative licences, one accepted licence is enough. */
function isAccepted(licence: string): boolean {
  const choices = licence.replace(/^\((.*)\)$/, "$1").split(" OR ");
  return choices.some((choice) => accepted.includes(choice));
}

function formatRows(): Row[] {
  const found = new Map<string, Row>();
  for (const path of globSync("packages/*/package.json", { cwd: root }))
    visit(join(root, path), undefined, found);
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function visit(path: string, user: string | undefined, found: Map<string, Row>): void {
  const {
    name,
    license = "none",
    dependencies,
    peerDependencies,
  }: Manifest = JSON.parse(readFileSync(path, "utf8"));
  const isOurs = name.startsWith("@sluice/") || name === "create-sluice";
  if (!isOurs && user !== undefined) {
    const users = new Set([...(found.get(name)?.users ?? []), user]);
    const wasKnown = found.get(name)?.users.includes(user) ?? false;
    found.set(name, { name, licence: license, users: [...users].sort() });
    if (wasKnown) return;
  }
  for (const next of Object.keys({ ...dependencies, ...(isOurs ? peerDependencies : {}) }))
    visit(findManifest(next, path), isOurs ? name : user, found);
}

/** Finds the manifest of a dependency of the package at `from`. */
function findManifest(name: string, from: string): string {
  const folders = createRequire(from).resolve.paths(name) ?? [];
  const found = folders.flatMap((folder) => globSync(join(folder, name, "package.json"))).at(0);
  if (!found) throw new Error(`${name} of ${from} is not installed`);
  return realpathSync(found);
}

if (import.meta.main) console.log(createLicencePage().page);
