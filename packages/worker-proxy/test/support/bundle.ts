import { fileURLToPath } from "node:url";
import { build } from "vite";
import { sources } from "../../../../scripts/sources.ts";

const inPackages = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

const bundles = new Map<string, Promise<string>>();

/**
 * A Worker as one module, made of the packages' sources; made once for all files of a test worker.
 *
 * @param path of its file, below `packages`
 */
export function bundle(path: string, define: Record<string, string> = {}): Promise<string> {
  const key = JSON.stringify([path, define]);
  const made = bundles.get(key) ?? makeBundle(path, define);
  bundles.set(key, made);
  return made;
}

async function makeBundle(path: string, define: Record<string, string>): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias: sources },
    define,
    build: {
      write: false,
      minify: false,
      lib: { entry: inPackages(path), formats: ["es"] },
      rolldownOptions: { external: [/^node:/, "pg", "postgres"], output: { codeSplitting: false } },
    },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
