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
export function bundle(path: string): Promise<string> {
  const made = bundles.get(path) ?? makeBundle(path);
  bundles.set(path, made);
  return made;
}

/** The settings of the Worker of `fixture/attacked.ts`. */
export interface AttackedSettings {
  /** Options of the proxy that can be written as JSON. */
  readonly options?: object;
  /** Further settings: the plugins, and what throws. */
  readonly plan?: object;
  readonly timeout?: object;
}

/** Bundles the Worker of `fixture/attacked.ts`. Its settings are before the bundle, which is the same for all of them. */
export async function bundleAttacked({ options = {}, plan = {}, timeout = {} }: AttackedSettings = {}) {
  return [
    `const TIMEOUT = ${JSON.stringify(timeout)};`,
    `const PLAN = ${JSON.stringify(plan)};`,
    `const OPTIONS = ${JSON.stringify(options)};`,
    await bundle("worker-proxy/test/fixture/attacked.ts"),
  ].join("\n");
}

async function makeBundle(path: string): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias: sources },
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
