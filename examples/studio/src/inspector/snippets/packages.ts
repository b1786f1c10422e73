import licence from "../../../../../LICENSE?raw";
import workspace from "../../../../../pnpm-workspace.yaml?raw";

/** Files of a project: the text of each by its path. */
export type Files = Readonly<Record<string, string>>;

const code = import.meta.glob<string>(
  "../../../../../packages/{core,react,emulator,worker-proxy,durable}/dist/**/*.{js,d.ts}",
  { query: "?raw", import: "default", eager: true },
);
const manifests = import.meta.glob<string>(
  "../../../../../packages/{core,react,emulator,worker-proxy,durable}/package.json",
  { query: "?raw", import: "default", eager: true },
);

/** Finds the version of a library that this repository is tested with. */
export function versionOf(name: string): string {
  const version = new RegExp(`^  "?${name}"?: (\\S+)`, "m").exec(workspace)?.[1];
  if (version === undefined) throw new Error(`${name} is not in the catalog of pnpm-workspace.yaml`);
  return version;
}

/** Copies the built packages into a project: `packages/core/package.json` and so on. */
export function packageFiles(names: readonly string[]): Files {
  const files: Record<string, string> = { "packages/LICENSE": licence };
  for (const name of names) {
    for (const [path, text] of Object.entries(manifests))
      if (path.includes(`/packages/${name}/`)) files[`packages/${name}/package.json`] = manifestOf(text);
    for (const [path, text] of Object.entries(code)) {
      const [, inside] = path.split(`/packages/${name}/`);
      // the maps are not copied
      if (inside)
        files[`packages/${name}/${inside}`] = text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, "\n");
    }
  }
  return files;
}

/** Makes the manifest of a package as a release does: with versions in place of `workspace:` and `catalog:`. */
function manifestOf(text: string): string {
  const { devDependencies: _, scripts: __, files: ___, ...manifest } = JSON.parse(text);
  for (const list of [manifest.dependencies, manifest.peerDependencies])
    for (const [name, range] of Object.entries<string>(list ?? {})) {
      if (range === "catalog:") list[name] = versionOf(name);
      if (range.startsWith("workspace:")) list[name] = `^${manifest.version}`;
    }
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
