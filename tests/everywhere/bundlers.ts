import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { chromium } from "playwright";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";
import { installProject } from "./project.ts";

/*
 * The packages as bundlers of apps read them: each builds one page from the packed packages, warns of nothing, and the
 * page loads its chunks under a strict Content Security Policy.
 */

type Mode = "production" | "development";
/** Builds `entry` into `out`, and returns the bundler's warnings. The first file is `main.js`. */
type Build = (entry: string, out: string, mode: Mode) => Promise<readonly string[]>;

const tools = createRequire(join(import.meta.dirname, "tools/package.json"));
const load = (name: string): Promise<never> => import(tools.resolve(name)) as Promise<never>;

interface Stats {
  toJson(options: object): {
    readonly warnings: readonly { message: string }[];
    readonly errors: readonly { message: string }[];
  };
}
type Pack = (config: object, done: (error: Error | null, stats: Stats) => void) => void;

type Plugin = (options: object) => unknown;

interface Metro {
  loadConfig(options: object): Promise<Readonly<Record<"resolver" | "transformer", object>>>;
  runBuild(config: object, options: object): Promise<{ readonly code: string }>;
}

const packed = (pack: Pack, entry: string, path: string, mode: Mode) =>
  new Promise<readonly string[]>((resolve, reject) => {
    const config = {
      mode,
      context: join(entry, ".."),
      entry,
      output: { path, publicPath: "auto", filename: "main.js" },
    };
    pack({ ...config, performance: false }, (error, stats) => {
      if (error) return reject(error);
      const { warnings, errors } = stats.toJson({ all: false, warnings: true, errors: true });
      resolve([...errors, ...warnings].map(({ message }) => message));
    });
  });

export const bundlers: Readonly<Record<string, Build>> = {
  async webpack(entry, out, mode) {
    const { default: pack } = (await load("webpack")) as { default: Pack };
    return packed(pack, entry, out, mode);
  },
  async "@rspack/core"(entry, out, mode) {
    const { rspack } = (await load("@rspack/core")) as { rspack: Pack };
    return packed(rspack, entry, out, mode);
  },
  async rollup(entry, out, mode) {
    const { rollup } = (await load("rollup")) as {
      rollup(options: object): Promise<{ write(to: object): Promise<unknown> }>;
    };
    const { nodeResolve } = (await load("@rollup/plugin-node-resolve")) as Record<"nodeResolve", Plugin>;
    const { default: commonjs } = (await load("@rollup/plugin-commonjs")) as Record<"default", Plugin>;
    const { default: replace } = (await load("@rollup/plugin-replace")) as Record<"default", Plugin>;
    const warnings: string[] = [];
    const onwarn = ({ message }: { message: string }) => void warnings.push(message);
    const bundle = await rollup({
      input: { main: entry },
      plugins: [
        nodeResolve({ browser: true }),
        commonjs({}),
        replace({ "process.env.NODE_ENV": JSON.stringify(mode), preventAssignment: true }),
      ],
      onwarn,
    });
    await bundle.write({ dir: out, format: "es", entryFileNames: "[name].js" });
    return warnings;
  },
  async esbuild(entry, out, mode) {
    const { build } = (await load("esbuild")) as {
      build(options: object): Promise<{ warnings: readonly { text: string }[] }>;
    };
    const { warnings } = await build({
      entryPoints: { main: entry },
      bundle: true,
      splitting: true,
      format: "esm",
      minify: mode === "production",
      ...(mode === "development" && { conditions: [mode] }),
      outdir: out,
      logLevel: "silent",
    });
    return warnings.map(({ text }) => text);
  },
  async vite(entry, out, mode) {
    const { build, createLogger } = (await load("vite")) as typeof import("vite");
    const warnings: string[] = [];
    const logger = createLogger("warn");
    logger.warn = (message) => void warnings.push(message);
    logger.warnOnce = logger.warn;
    const output = { entryFileNames: "[name].js" };
    await build({
      configFile: false,
      mode,
      root: join(entry, ".."),
      base: "./",
      customLogger: logger,
      build: { outDir: out, emptyOutDir: true, rolldownOptions: { input: { main: entry }, output } },
    });
    return warnings;
  },
  async metro(entry, out) {
    const { default: metro } = (await load("metro")) as { default: Metro };
    const projectRoot = join(entry, "..");
    const runtime = join(tools.resolve("metro-runtime/package.json"), "..");
    const { resolver, transformer, ...rest } = await metro.loadConfig({ projectRoot, cwd: projectRoot });
    const warnings: string[] = [];
    const update = (event: { readonly type: string }) =>
      /warn|fail|error/.test(event.type) && warnings.push(JSON.stringify(event));
    const config = {
      ...rest,
      projectRoot,
      watchFolders: [projectRoot, runtime],
      resetCache: true,
      reporter: { update },
      resolver: { ...resolver, useWatchman: false },
      transformer: {
        ...transformer,
        asyncRequireModulePath: join(runtime, "src/modules/asyncRequire.js"),
        getTransformOptions: () => ({ transform: { experimentalImportSupport: true } }),
      },
    };
    const { code } = await metro.runBuild(config, { entry, platform: "web", dev: false, minify: true });
    writeFileSync(join(out, "main.js"), code);
    return warnings;
  },
};

/** Builds with one bundler. Vite, and Rollup's plugin for packages, take the conditions of packages from the variable. */
async function buildWith(name: string, entry: string, out: string, mode: Mode): Promise<readonly string[]> {
  const before = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = mode;
  try {
    return await (bundlers[name] as Build)(entry, out, mode);
  } finally {
    process.env["NODE_ENV"] = before;
  }
}

const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'";

/** Installs the packages for the bundlers, without mediabunny: few apps measure videos. */
export function installForBundlers(app: string, tarballs: ReadonlyMap<string, string>): void {
  installProject(app, tarballs, { react: "^19.0.0", "react-dom": "^19.0.0" });
  rmSync(join(app, "node_modules/mediabunny"), { recursive: true });
}

/** Builds the page with one bundler, and tries it. Returns the bundler's version, its warnings, and what went wrong. */
export async function tryBundler(
  name: string,
  app: string,
): Promise<{
  readonly version: string;
  readonly warnings: readonly string[];
  readonly problem: string | undefined;
}> {
  const { version } = tools(`${name}/package.json`);
  const out = join(app, "bundled", name);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const warnings = await buildWith(name, join(app, "bundled.js"), out, "production");
  writeFileSync(
    join(out, "index.html"),
    '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/main.js"></script>',
  );
  const problem = await readProblem(out).catch(String);
  return { version, warnings, problem };
}

/** Builds a module of an app in one mode. Returns all of its code. */
export async function bundleModule(name: string, entry: string, mode: Mode): Promise<string> {
  const out = join(dirname(entry), "out", name, mode);
  mkdirSync(out, { recursive: true });
  await buildWith(name, entry, out, mode);
  return globSync("**/*.js", { cwd: out })
    .map((file) => readFileSync(join(out, file), "utf8"))
    .join("\n");
}

declare const page: {
  readonly violations: readonly string[];
  send(text: string): Promise<{ outcome: string; error?: string }>;
};

/** Serves the built page with the policy, and chats in it: with a repeated refusal, and without a network. */
async function readProblem(out: string): Promise<string | undefined> {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const fetch: typeof emulator.fetch = async (input) => {
    const request = new Request(input);
    const { pathname } = new URL(request.url);
    const file = pathname === "/" ? "index.html" : pathname.slice(1);
    if (request.method !== "GET" || !/^[\w./-]+\.(?:html|js)$/.test(file)) return emulator.fetch(request);
    const type = file.endsWith(".js") ? "text/javascript" : "text/html";
    const headers = { "content-type": type, "content-security-policy": POLICY };
    return new Response(readFileSync(join(out, file)), { headers });
  };
  const served = await serve({ ...emulator, fetch }, { port: 0 });
  const browser = await chromium.launch({ executablePath: findChromium() ?? "", args: chromiumFlags });
  try {
    const opened = await browser.newPage();
    const problems: string[] = [];
    opened.on("pageerror", ({ message }) => problems.push(message));
    await opened.goto(served.url);
    await opened.waitForFunction(() => typeof page === "object");
    const first = await opened.evaluate(() => page.send("[[429:1]] Hello"));
    if (first.outcome !== "complete")
      problems.push(`a refusal that passes ended as ${first.outcome}: ${first.error}`);
    await opened.context().setOffline(true);
    const { error } = await opened.evaluate(() => page.send("Are you there?"));
    if (error !== "ConnectionError") problems.push(`without a network it ended with ${error}`);
    await opened.context().setOffline(false);
    const last = await opened.evaluate(() => page.send("And again"));
    if (last.outcome !== "complete") problems.push(`with the network back it ended as ${last.outcome}`);
    problems.push(...(await opened.evaluate(() => page.violations)));
    return problems.length > 0 ? problems.join("; ") : undefined;
  } finally {
    await browser.close();
    await served.close();
  }
}
