import { enableCompileCache, registerHooks } from "node:module";

const core = new URL("../../core/src/", import.meta.url);

// strips the types of each file once, and not in each process
enableCompileCache();

// lets plain Node run the sources, so that testing the command needs no build
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "@sluice/core") return next(new URL("index.ts", core).href, context);
    const [, entry] = /^@sluice\/core\/([\w-]+)$/.exec(specifier) ?? [];
    if (entry) return next(new URL(`${entry}.ts`, core).href, context);
    const isOurs = specifier.startsWith(".") && context.parentURL?.endsWith(".ts");
    return next(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
});
