import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns options that make wrangler bundle packages from source, because the source maps of builds omit the sources. */
export function aliasSources(...names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const { exports } = JSON.parse(readFileSync(`${root}packages/${name}/package.json`, "utf8"));
    const entries = Object.entries<{ default?: string }>(exports).filter(([, target]) => target.default);
    return entries.flatMap(([entry, { default: path = "" }]) => [
      "--alias",
      `@sluice/${name}${entry.slice(1)}:${root}packages/${name}/${path.replace("dist/", "src/").replace(/js$/, "ts")}`,
    ]);
  });
}
