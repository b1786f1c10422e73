import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const bundles = new Map<string, Promise<string>>();

/** A Worker of this folder's as one module, made of the package's sources; made once for all files of a test worker. */
export function bundle(path: string, define: Record<string, string> = {}): Promise<string> {
  const key = JSON.stringify([path, define]);
  const made = bundles.get(key) ?? makeBundle(path, define);
  bundles.set(key, made);
  return made;
}

async function makeBundle(path: string, define: Record<string, string>): Promise<string> {
  const alias = {
    "@sluice/core/sse": here("../../../core/src/entries/sse.ts"),
    "@sluice/core/internal": here("../../../core/src/entries/internal.ts"),
    "@sluice/worker-proxy/auth": here("../../src/auth/index.ts"),
    "@sluice/worker-proxy/durable": here("../../src/durable/index.ts"),
    "@sluice/worker-proxy/media": here("../../src/media/index.ts"),
    "@sluice/worker-proxy/notify": here("../../src/notify/index.ts"),
    "@sluice/worker-proxy/operator": here("../../src/operator/index.ts"),
    "@sluice/worker-proxy/push": here("../../src/push/index.ts"),
    "@sluice/worker-proxy": here("../../src/index.ts"),
  };
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias },
    define,
    build: {
      write: false,
      minify: false,
      lib: { entry: here(path), formats: ["es"] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
