import { strToU8, zipSync } from "fflate";
import { saveFile } from "@/components/sluice/save-file";
import type { Work } from "../feed.js";
import { type Files, packageFiles, versionOf } from "./packages.js";
import { proxyAt, type Server } from "./parts.js";
import { snippet, stored, type Target } from "./snippet.js";

/** A folder that runs after `npm install`. */
export interface Project {
  /** Name of the folder: `sluice-images-react`. */
  readonly name: string;
  readonly title: string;
  readonly files: Files;
}

/** Parts of a project that differ with its target. */
interface Parts {
  readonly files: Files;
  readonly scripts: Readonly<Record<string, string>>;
  /** Packages of this repository that the code imports. */
  readonly packages: readonly string[];
  readonly libraries?: readonly string[];
  /** Libraries that only building needs. */
  readonly tools?: readonly string[];
  /** Command that runs it, and what is seen then. */
  readonly run: string;
  readonly seen: string;
}

const parts: Readonly<Record<Target, (work: Work) => Parts>> = { react, script, worker, curl };

/** The emulator's command sets these; so does a shell for a gateway. */
const gateway: Server = {
  code: `process.env.GATEWAY_URL ?? ""`,
  shell: "$GATEWAY_URL",
  needsKey: true,
};

/** Makes a whole project of the work of a room. It runs on the emulator, and has the packages in it. */
export function projectOf(work: Work, target: Target): Project {
  const { files, packages, libraries = [], tools = [], scripts, run, seen } = parts[target](work);
  const name = `sluice-${work.room === "chat" && work.compared ? "compare" : work.room}-${target}`;
  const title = `${titles[work.room]} with Sluice`;
  // the emulator needs the core
  const own = [...new Set([...packages, "emulator", "core"])];
  const manifest = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    engines: { node: ">=22.18" },
    scripts,
    dependencies: { ...ownPackages(own.filter((it) => packages.includes(it))), ...versionsOf(libraries) },
    devDependencies: {
      ...ownPackages(own.filter((it) => !packages.includes(it))),
      ...versionsOf(tools),
    },
  };
  return {
    name,
    title,
    files: {
      ...files,
      "package.json": `${JSON.stringify(manifest, undefined, 2)}\n`,
      "README.md": readmeOf({ title, run, seen, packages }),
      ...packageFiles(own),
    },
  };
}

const titles = { chat: "Chat", images: "Images", videos: "Videos", assets: "Assets" };

function ownPackages(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [`@sluice/${name}`, `file:packages/${name}`]));
}

function versionsOf(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, versionOf(name)]));
}

interface ReadmeParts extends Pick<Parts, "run" | "seen" | "packages"> {
  readonly title: string;
}

function readmeOf({ title, run, seen, packages }: ReadmeParts): string {
  const install = ["npm install", ...packages.map((name) => `@sluice/${name}`)].join(" ");
  return `# ${title}

\`\`\`sh
npm install
${run}
\`\`\`

${seen} It runs on the emulator: offline, without a key, and free of charge.

For a gateway, take \`sluice-emulator … --\` out of the scripts in \`package.json\`, and set \`GATEWAY_URL\` and \`GATEWAY_API_KEY\` in the environment.

The packages are not on a registry yet, so this project has them in \`packages/\`. Once they are, delete that folder and run:

\`\`\`sh
${packages.length > 0 ? `${install}\n` : ""}npm install --save-dev @sluice/emulator
\`\`\`
`;
}

/** Writes the emulator's command, which runs another one. A video takes a minute or two, and nobody waits that long. */
function emulatorFor({ room }: Work, options = ""): string {
  return `sluice-emulator ${options}${room === "videos" ? "--speed 10 " : ""}--`;
}

const tsconfig = (types: readonly string[], include: readonly string[]) =>
  `${JSON.stringify(
    {
      compilerOptions: {
        target: "es2023",
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
        module: "preserve",
        moduleResolution: "bundler",
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        jsx: "react-jsx",
        types,
      },
      include,
    },
    undefined,
    2,
  )}\n`;

function react(work: Work): Parts {
  return {
    packages: ["core", "react"],
    libraries: ["react", "react-dom"],
    tools: ["@types/node", "@types/react", "@types/react-dom", "@vitejs/plugin-react", "typescript", "vite"],
    scripts: { dev: `${emulatorFor(work)} vite`, build: "vite build", types: "tsc -p ." },
    run: "npm run dev",
    seen: "Open the address that it prints. Vite adds the gateway's key in development; in production, a Worker does.",
    files: {
      "index.html": `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Sluice</title>
  </head>
  <body>
    <div id="root"></div>
    <script type="module" src="/src/main.tsx"></script>
  </body>
</html>
`,
      "src/main.tsx": `import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
`,
      // the page's own server
      "src/app.tsx": snippet(work, "react", { code: "location.origin", shell: "" }),
      "vite.config.ts": `import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const { GATEWAY_URL = "", GATEWAY_API_KEY } = process.env;

const gateway = {
  target: GATEWAY_URL,
  // the emulator names its files by the page's address
  changeOrigin: !GATEWAY_URL.startsWith("http://127.0.0.1"),
  // the page never has the key
  headers: { authorization: \`Bearer \${GATEWAY_API_KEY}\` },
};

export default defineConfig({
  plugins: [react()],
  server: { proxy: { "/v1": gateway, "/gamma": gateway, "/files": gateway } },
});
`,
      "tsconfig.json": tsconfig(["node", "vite/client"], ["src", "vite.config.ts"]),
    },
  };
}

function script(work: Work): Parts {
  return {
    packages: ["core"],
    tools: ["@types/node", "typescript"],
    scripts: { start: `${emulatorFor(work, "--quiet ")} node script.ts`, types: "tsc -p ." },
    run: "npm start",
    seen: "The answer is printed.",
    files: {
      "script.ts": snippet(work, "script", gateway),
      "tsconfig.json": tsconfig(["node"], ["script.ts"]),
    },
  };
}

function curl(work: Work): Parts {
  return {
    packages: [],
    scripts: { start: `${emulatorFor(work, "--quiet ")} sh request.sh` },
    run: "npm start",
    seen: "The answer is printed. It needs `sh` and `curl`.",
    files: { "request.sh": snippet(work, "curl", gateway) },
  };
}

const WORKER = "http://127.0.0.1:8787";

function worker(work: Work): Parts {
  const isStored = work.room in stored;
  const config = {
    name: "sluice-worker",
    main: "worker.ts",
    dev: { port: 8787 },
    compatibility_date: "2026-10-01",
    // a client that leaves ends the gateway's work, too
    compatibility_flags: ["enable_request_signal"],
    secrets: { required: ["GATEWAY_URL", "GATEWAY_API_KEY"] },
    ...(isStored && {
      durable_objects: { bindings: [{ name: "SLUICE", class_name: "Sluice" }] },
      migrations: [{ tag: "v1", new_sqlite_classes: ["Sluice"] }],
    }),
  };
  return {
    packages: ["core", "worker-proxy", ...(isStored ? ["durable"] : [])],
    tools: ["@types/node", "typescript", "wrangler"],
    scripts: { dev: `${emulatorFor(work)} wrangler dev`, ask: "node ask.ts", types: "tsc -p ." },
    run: "npm run dev",
    seen: "Then run `npm run ask` in another terminal: it asks the Worker, which adds the key.",
    files: {
      "worker.ts": snippet(work, "worker", gateway),
      "ask.ts": snippet(work, "script", proxyAt(WORKER)),
      "wrangler.jsonc": `${JSON.stringify(config, undefined, 2)}\n`,
      "tsconfig.json": tsconfig(["node"], ["worker.ts", "ask.ts"]),
    },
  };
}

/** Saves a project as a zip, with its folder in it. */
export function saveProject({ name, files }: Project): void {
  const entries = Object.entries(files).map(([path, text]) => [`${name}/${path}`, strToU8(text)]);
  saveFile(new Blob([zipSync(Object.fromEntries(entries))], { type: "application/zip" }), `${name}.zip`);
}

const STACKBLITZ = "https://stackblitz.com/run";

/** Opens a project in a new tab: sends its files to StackBlitz, which makes a project of them. */
export function openInStackBlitz({ title, files }: Project): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = STACKBLITZ;
  form.target = "_blank";
  form.rel = "noopener";
  const values = {
    "project[title]": title,
    "project[description]": title,
    "project[template]": "node",
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`project[files][${path}]`, text])),
  };
  for (const [name, value] of Object.entries(values)) {
    // unlike an input, it keeps line ends
    const field = document.createElement("textarea");
    field.name = name;
    field.value = value;
    form.append(field);
  }
  form.hidden = true;
  document.body.append(form);
  form.submit();
  form.remove();
}
