import { fileURLToPath } from "node:url";
import { build, type Rollup } from "vite";

/** HTML of a page that runs `script`, a file of this folder, with all that it imports. */
export async function buildPage(script: string): Promise<string> {
  const input = fileURLToPath(new URL(script, import.meta.url));
  const output = (await build({
    configFile: false,
    logLevel: "error",
    // includes lazy chunks: the page is one file
    build: { write: false, rollupOptions: { input, output: { codeSplitting: false } } },
  })) as Rollup.RollupOutput;
  const code = output.output[0].code.replaceAll("</script", "<\\/script");
  return `<!doctype html><title>page</title><body><script type="module">${code}</script>`;
}

/** A Worker as one module: `script`, a file of this folder, with all that it imports, as wrangler would take it. */
export async function buildWorker(script: string): Promise<string> {
  const entry = fileURLToPath(new URL(script, import.meta.url));
  const [{ output } = { output: [] }] = (await build({
    configFile: false,
    logLevel: "error",
    resolve: { conditions: ["workerd", "worker", "browser", "module"] },
    build: {
      write: false,
      lib: { entry, formats: ["es"] },
      rollupOptions: { output: { codeSplitting: false } },
    },
  })) as { readonly output: readonly { readonly code: string }[] }[];
  return output[0]?.code ?? "";
}
