import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const packages = join(import.meta.dirname, "../../packages");

/** The public entry points of the packages, with their sources in `packages/`: `@sluice/core/sse`, `core/src/entries/sse.ts`. */
export const entries: Readonly<Record<string, string>> = Object.fromEntries(
  globSync("*/package.json", { cwd: packages })
    .sort()
    .flatMap((path) => {
      const { name, exports } = JSON.parse(readFileSync(join(packages, path), "utf8")) as {
        name: string;
        exports: Record<string, string | { types: string }>;
      };
      return Object.entries(exports).flatMap(([entry, target]) => {
        // the browser's file has the names of two other entries
        if (typeof target === "string" || ["./internal", "./browser"].includes(entry)) return [];
        const source = target.types.replace("./dist/", "src/").replace(".d.ts", ".ts");
        return [[name + entry.slice(1), join(dirname(path), source)]];
      });
    }),
);
