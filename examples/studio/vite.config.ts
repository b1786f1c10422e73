import { join } from "node:path";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type Plugin } from "vite";

/** Address of the Worker that `pnpm demo` starts. */
const worker = "http://127.0.0.1:8787";
/** The emulator serves its files at a port of its own. */
const thisMachine = "http://127.0.0.1:*";

export default defineConfig(({ mode }) => {
  const { VITE_GATEWAY } = loadEnv(mode, import.meta.dirname);
  const isHosted = mode === "hosted";
  return {
    // a hosted page may stand at any path
    base: isHosted ? "./" : "/",
    plugins: [
      react(),
      tailwind(),
      parseWithoutDOM(),
      leaveOut(),
      contentSecurityPolicy(isHosted ? hostedPolicy : policyFor(VITE_GATEWAY)),
      firstScreen(),
      claims(VITE_GATEWAY),
    ],
    build: {
      rolldownOptions: {
        input: ["index.html", "diagram.html"].map((page) => join(import.meta.dirname, page)),
        output: {
          codeSplitting: {
            groups: [
              // the frame of diagrams needs it, too, and nothing else of the page
              { name: "preload-helper", test: /preload-helper/, priority: 4 },
              { name: "first", test: /src\/(main|chat\/chat-room)\.tsx$/, priority: 3 },
              { name: "conversation", test: /src\/chat\/conversation\.tsx$/, priority: 2 },
            ],
          },
        },
      },
      // the policy refuses fonts that are part of a style sheet
      assetsInlineLimit: 0,
      // browsers that lack it are older than what the page needs
      modulePreload: {
        polyfill: false,
        // a link for each file of a part takes longer than the part
        resolveDependencies: (_, files, { hostType }) => (hostType === "html" ? files : []),
      },
    },
    // each language of the highlighter is a file of its own
    worker: { format: "es", plugins: () => [leaveOut()] },
    resolve: {
      alias: [
        // React has had the hook since 18
        { find: /^use-sync-external-store\/shim(\/index\.js)?$/, replacement: "react" },
        // the registry's popups load when the pointer comes near: a page that shows one at once takes them as they are
        {
          find: "@/components/sluice/popups",
          replacement: join(import.meta.dirname, "src/ui/popups.tsx"),
        },
        { find: /^@(?=\/)/, replacement: join(import.meta.dirname, "../../labs/registry") },
      ],
    },
    server: { proxy: { "/v1": worker, "/gamma": worker } },
  };
});

/** Languages whose code is coloured; code in others is plain. Shiki has 240 of them, most of which nobody asks a model for. */
const languages =
  `c cpp csharp css dart diff docker elixir go graphql haskell hcl html http ini java javascript json jsonc jsx kotlin
  latex lua make markdown nginx perl php powershell python r ruby rust scala scss shellscript shellsession sql swift toml
  tsx typescript vue xml yaml zig`.split(/\s+/);
/** The themes of `highlight-worker.ts` of the registry. */
const themes = ["github-light-default", "github-dark-default"];
/** Mermaid's diagrams that are drawn; others are shown as their code. */
const diagrams =
  /^(?:flow|sequence|class|state|er|gantt|gitGraph|pie|journey|quadrant|xychart|timeline|mindmap|chunk|dagre|cose)/;

/** Each library's own dynamic imports: the file that has them, their names, and those that stay. */
const choices: readonly {
  readonly importer: RegExp;
  readonly source: RegExp;
  readonly stays: (name: string) => boolean;
}[] = [
  // a grammar that another one needs is imported by it, and stays
  {
    importer: /langs-bundle/,
    source: /^@shikijs\/langs\/(.+)$/,
    stays: (name) => languages.includes(name),
  },
  { importer: /shiki/, source: /^@shikijs\/themes\/(.+)$/, stays: (name) => themes.includes(name) },
  // the studio's engine of regular expressions is the browser's own
  { importer: /shiki/, source: /^shiki\/(wasm)$/, stays: () => false },
  { importer: /mermaid/, source: /^\.\/chunks\/mermaid[\w.-]+\/(.+)$/, stays: (name) => diagrams.test(name) },
  { importer: /mermaid/, source: /^\.\/(swimlanes)-/, stays: () => false },
];

/** Stands for all that is left out: a list without grammars, and no diagram. */
const NOTHING = "\0nothing";

/** Fonts for browsers that are older than the page. Those that stay are WOFF2. */
const OLD_FONTS = /,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["']?(?:woff|truetype)["']?\)/g;

/** Leaves out what libraries could load and the studio does not: grammars, themes, diagrams and old fonts. */
function leaveOut(): Plugin {
  return {
    name: "leave-out",
    apply: "build",
    enforce: "pre",
    resolveId: (source, importer = "") => (isLeftOut(source, importer) ? NOTHING : null),
    load: (id) => (id === NOTHING ? "export default []; export const diagram = undefined;" : null),
    transform: (code, id) => (/katex.*\.css$/.test(id) ? code.replace(OLD_FONTS, "") : null),
  };
}

function isLeftOut(source: string, importer: string): boolean {
  return choices.some((choice) => {
    const [, name] = (choice.importer.test(importer) && choice.source.exec(source)) || [];
    return name !== undefined && !choice.stays(name);
  });
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

const always = [
  "default-src 'self'",
  "style-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  // the button that sends a project there
  "form-action https://stackblitz.com",
];
/** The hosted page speaks to nobody by itself: its Service Worker has all that it shows. */
const hostedPolicy = [...always, "img-src 'self' blob: data:"];

function policyFor(gateway: string | undefined): readonly string[] {
  return [
    ...always,
    // to save a file, the page fetches it from the gateway's storage
    ["connect-src 'self' https:", thisMachine, gateway && new URL(gateway).origin].filter(Boolean).join(" "),
    `img-src 'self' blob: data: https: ${thisMachine}`,
    `media-src 'self' https: ${thisMachine}`,
  ];
}

/** The hidden frame that draws diagrams loads its scripts and nothing else. Mermaid writes style elements. */
const framePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
];
/** The development server adds inline scripts and a socket. */
const framePolicyInDevelopment = framePolicy.map((part) =>
  part.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'; connect-src 'self' ws:"),
);

/** Adds a policy to each built page. In development only the frame has one. */
function contentSecurityPolicy(pagePolicy: readonly string[]): Plugin {
  return {
    name: "content-security-policy",
    transformIndexHtml(_, { filename, server }) {
      const isFrame = filename.endsWith("diagram.html");
      if (server && !isFrame) return [];
      const policy = isFrame ? (server ? framePolicyInDevelopment : framePolicy) : pagePolicy;
      const attrs = { "http-equiv": "Content-Security-Policy", content: policy.join("; ") };
      return [{ tag: "meta", attrs, injectTo: "head-prepend" }];
    },
  };
}

/** Loads the first room and its font beside the entry, instead of after it. */
function firstScreen(): Plugin {
  let base = "/";
  return {
    name: "first-screen",
    apply: "build",
    configResolved: (config) => {
      base = config.base;
    },
    transformIndexHtml: {
      order: "post",
      handler: (html, { filename, bundle = {} }) => {
        if (filename.endsWith("diagram.html")) return [];
        const files = Object.values(bundle);
        const room = files.find(
          (file) => file.type === "chunk" && /chat-room\.tsx$/.test(file.facadeModuleId ?? ""),
        );
        const scripts = room?.type === "chunk" ? [room.fileName, ...room.imports] : [];
        const font = files.find(({ fileName }) => /geist-latin-wght-normal/.test(fileName));
        return [
          ...scripts
            .filter((name) => !html.includes(name))
            .map((name) => ({
              tag: "link",
              attrs: { rel: "modulepreload", crossorigin: true, href: base + name },
            })),
          ...(font
            ? [
                {
                  tag: "link",
                  attrs: { rel: "preload", as: "font", crossorigin: true, href: base + font.fileName },
                },
              ]
            : []),
        ];
      },
    },
  };
}

/** Takes the sentence about the emulator out of the first screen of a page for another gateway. */
function claims(gateway: string | undefined): Plugin {
  return {
    name: "claims",
    transformIndexHtml: (html) => (gateway ? html.replace(" This page runs offline and is free.", "") : html),
  };
}
