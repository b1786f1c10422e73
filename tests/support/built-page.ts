import { fileURLToPath } from "node:url";
import { build, type Rollup } from "vite";

/** HTML of a page that runs `script`, a file of this folder, with all that it imports. */
export async function builtPage(script: string): Promise<string> {
  const input = fileURLToPath(new URL(script, import.meta.url));
  const output = (await build({
    configFile: false,
    logLevel: "error",
    // what is loaded on demand too: the page is one file
    build: { write: false, rollupOptions: { input, output: { codeSplitting: false } } },
  })) as Rollup.RollupOutput;
  const code = output.output[0].code.replaceAll("</script", "<\\/script");
  return `<!doctype html><title>page</title><body><script type="module">${code}</script>`;
}
