import { join } from "node:path";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type Plugin } from "vite";
import manifest from "../../package.json" with { type: "json" };

/** Address of the Worker that `pnpm demo` starts. */
const worker = "http://127.0.0.1:8787";
/** The emulator serves its files on another port of this machine. */
const thisMachine = "http://127.0.0.1:*";

/** URL of the repository. Empty until a release has set it. */
const source = (manifest as { repository?: { url: string } }).repository?.url.replace(/^git\+|\.git$/g, "");

export default defineConfig(({ mode }) => {
  const { VITE_GATEWAY, VITE_MEDIA = "" } = loadEnv(mode, import.meta.dirname);
  const isHosted = mode === "hosted";
  const hosts = isHosted ? "" : [VITE_GATEWAY ?? thisMachine, VITE_MEDIA].join(" ").trim();
  return {
    // a hosted page may have any path
    base: isHosted ? "./" : "/",
    define: { "import.meta.env.VITE_SOURCE": JSON.stringify(source ?? "") },
    plugins: [react(), tailwind(), leaveOut(), parseWithoutDOM(), addPolicy(hosts)],
    build: {
      // the policy refuses fonts that are part of a style sheet
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: { output: { codeSplitting: { groups: scripts } } },
    },
    // each language of the highlighter is a separate file
    worker: { format: "es", plugins: () => [leaveOut()] },
    resolve: {
      alias: [{ find: /^@(?=\/)/, replacement: join(import.meta.dirname, "../../labs/registry") }],
    },
    server: { proxy: { "/v1": worker, "/gamma": worker } },
  };
});

/**
 * The scripts that the page loads before the first response. Each bundles what the first message would otherwise load
 * later: on a slow connection, each round trip delays the response.
 */
const scripts = [
  { name: "first-screen", tags: ["$initial" as const] },
  {
    name: "client",
    test: /[\\/](?:src[\\/]client\.tsx|(?:stream-code|signatures|data-uri)\.js|idb[\\/].*\.js)$/,
  },
  { name: "chat-room", test: /[\\/](?:src[\\/]chat-room\.tsx|chat-turn\.tsx|to-json-schema[\\/].*js)$/ },
];

/** Languages whose code has colors. Shiki has 240. */
const languages =
  `c cpp csharp css diff docker go graphql html java javascript json jsx kotlin lua make markdown php powershell python r
  ruby rust scala shellscript sql swift toml tsx typescript vue xml yaml`.split(/\s+/);
/** The themes of `highlight-worker.ts` of the registry. */
const themes = ["github-light-default", "github-dark-default"];

/** Stands for a grammar or a theme that is left out. */
const NOTHING = "\0nothing";
/** Fonts for browsers that are older than the page. */
const OLD_FONTS = /,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["']?(?:woff|truetype)["']?\)/g;

/** Leaves out what libraries could load and the studio does not need: grammars, themes, diagrams and old fonts. */
function leaveOut(): Plugin {
  const isLeftOut = (source: string, importer: string) => {
    const [, kind, name = ""] = /^@shikijs\/(langs|themes)\/(.+)$/.exec(source) ?? [];
    // a grammar that another grammar imports stays
    if (kind === "langs") return importer.includes("langs-bundle") && !languages.includes(name);
    if (kind === "themes") return !themes.includes(name);
    return source === "shiki/wasm" || source === "mermaid";
  };
  return {
    name: "leave-out",
    apply: "build",
    enforce: "pre",
    resolveId: (source, importer = "") => (isLeftOut(source, importer) ? NOTHING : null),
    load: (id) => (id === NOTHING ? "export default [];" : null),
    transform: (code, id) => (/katex.*\.css$/.test(id) ? code.replace(OLD_FONTS, "") : null),
  };
}

/** Parses formulas in JavaScript: the browser's parser reports each style attribute as a breach of the policy. */
function parseWithoutDOM(): Plugin {
  return {
    name: "parse-without-dom",
    enforce: "pre",
    async resolveId(source, importer, options) {
      if (source !== "hast-util-from-html-isomorphic") return null;
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      return found && { ...found, id: found.id.replace("lib/browser.js", "index.js") };
    },
  };
}

/**
 * Adds the content policy to the built page. No renderer of a response can load anything from another host, whatever the
 * response contains.
 *
 * @param hosts hosts of the gateway's files, separated by spaces
 */
function addPolicy(hosts: string): Plugin {
  const content = [
    "default-src 'self'",
    "style-src 'self'",
    `img-src 'self' blob: data: ${hosts}`,
    `media-src 'self' blob: ${hosts}`,
    `connect-src 'self' ${hosts}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const attrs = { "http-equiv": "Content-Security-Policy", content };
  return {
    name: "content-policy",
    apply: "build",
    transformIndexHtml: () => [{ tag: "meta", attrs, injectTo: "head-prepend" }],
  };
}
