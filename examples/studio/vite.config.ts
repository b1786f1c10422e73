import { join } from "node:path";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type Plugin } from "vite";
import { leaveOut } from "./build/leave-out.ts";

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
        { find: /^@(?=\/)/, replacement: join(import.meta.dirname, "../registry") },
      ],
    },
    server: { proxy: { "/v1": worker, "/gamma": worker } },
  };
});

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

/** Adds the policy to the built page. The development server needs inline scripts and a socket. */
function contentSecurityPolicy(parts: readonly string[]): Plugin {
  const policy = parts.join("; ");
  return {
    name: "content-security-policy",
    apply: "build",
    transformIndexHtml: (_, { filename }) => [
      {
        tag: "meta",
        attrs: {
          "http-equiv": "Content-Security-Policy",
          // the hidden frame that draws diagrams: Mermaid writes style elements
          content: filename.endsWith("diagram.html")
            ? policy.replace(/style-src/, "$& 'unsafe-inline'")
            : policy,
        },
        injectTo: "head-prepend",
      },
    ],
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
