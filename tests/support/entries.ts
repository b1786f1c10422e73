import { join, relative } from "node:path";
import { sources } from "../../scripts/sources.ts";

const packages = join(import.meta.dirname, "../../packages");

/** The public entry points of the packages, with their sources in `packages/`: `@sluice/core/sse`, `core/src/entries/sse.ts`. */
export const entries: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(sources)
    .map(([name, path]): [string, string] => [name, relative(packages, path)])
    .filter(([name, path]) => !path.startsWith("..") && !/\/internal(?:\/media)?$/.test(name))
    .sort(([one], [other]) => one.localeCompare(other)),
);
