import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");

/**
 * The source file of each package entry, by import name: `@sluice/core/sse`. Longer names come first, as aliases
 * require.
 */
export const sources: Readonly<Record<string, string>> = Object.fromEntries(
  globSync("{packages,labs}/*/package.json", { cwd: root })
    .flatMap((path) => {
      const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), "utf8")) as {
        name: string;
        exports?: Record<string, string | { types: string }>;
      };
      return Object.entries(exports).flatMap(([entry, target]) => {
        if (typeof target === "string") return [];
        const file = target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");
        return [[name + entry.slice(1), join(root, dirname(path), file)] as const];
      });
    })
    .sort(([a], [b]) => b.length - a.length || a.localeCompare(b)),
);

/** The sources as aliases for exact package names. */
export const aliases = Object.entries(sources).map(([name, replacement]) => ({
  find: new RegExp(`^${name}$`),
  replacement,
}));
