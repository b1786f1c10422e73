import {
  addChat,
  addCloudflare,
  addNodeTypes,
  addWorker,
  allowExtensions,
  type ByHand,
  CHAT_IMPORTS,
  WORKER,
} from "./edits.js";
import type { TemplateName } from "./templates.js";

interface File {
  readonly path: string;
  readonly text: string;
}

/** A file of a template, adapted to an existing app. */
export interface Adapted extends File {
  /** True for an edited file of the app. */
  readonly isTheirs?: boolean;
  /** Edits that the user must make, in place of the file. */
  readonly edits?: readonly ByHand[];
}

interface App {
  readonly template: TemplateName;
  /** Reads a file of the app. */
  readonly read: (path: string) => string | undefined;
}

const dropFile = (path: string): Adapted => ({ path, text: "", edits: [] });

/** Adapts a file of a template to an existing app: moves the file, or edits the app's file with the same purpose. */
export function adapt(file: File, { template, read }: App): Adapted {
  const own = read(file.path);
  if (own === file.text) return file;
  if (file.path === "README.md") return own?.includes(MARK) ? file : createGuide(file, template, read);
  if (template === "react") return adaptToVite(file, read);
  if (template === "next") return adaptToNext(file, read);
  if (template === "start") return adaptToStart(file, read);
  if (file.path === "wrangler.jsonc") return adaptToWrangler(file, read);
  return file.path === "tsconfig.json"
    ? (editFile(file.path, read, allowExtensions, EXTENSIONS) ?? file)
    : file;
}

/** A line of the template's README. */
const MARK = " create sluice`.";
const EXTENSIONS = '"compilerOptions": { "allowImportingTsExtensions": true, "noEmit": true }';
const PLUGIN = `import { cloudflare } from "@cloudflare/vite-plugin";
plugins: [cloudflare(), …]`;
const SHOWN = `${CHAT_IMPORTS.join("\n")}
<ChatApp models={modelNames} />`;

/** Returns the README as a separate page, beside the app's README. */
function createGuide({ text }: File, template: TemplateName, read: App["read"]): Adapted {
  const hasPage = template === "next" || template === "start";
  const placed = hasPage ? text.replace("Open the address", "Open `/chat` at the address") : text;
  const { scripts = {} }: { scripts?: Readonly<Record<string, string>> } = JSON.parse(
    read("package.json") ?? "{}",
  );
  const isTheirs = scripts["deploy"] !== undefined && !scripts["deploy"].includes("check:deploy");
  return {
    path: "SLUICE.md",
    text: isTheirs ? placed.replaceAll(" run deploy`", " run sluice:deploy`") : placed,
  };
}

function adaptToVite(file: File, read: App["read"]): Adapted {
  const find = (...paths: readonly string[]) => paths.find((path) => read(path) !== undefined);
  const { path } = file;
  if (path === "wrangler.jsonc") return adaptToWrangler(file, read);
  if (path === "index.html") return read(path) === undefined ? file : dropFile(path);
  if (path === "vite.config.ts") {
    const config = find(path, "vite.config.js", "vite.config.mjs", "vite.config.mts");
    return config === undefined ? file : (editFile(config, read, addCloudflare, PLUGIN) ?? file);
  }
  if (path === "src/main.tsx") {
    if (read(path)?.includes("ChatApp")) return file;
    if (find(path, "src/main.jsx", "src/index.tsx", "src/index.jsx") === undefined) return file;
    const shown = find("src/App.tsx", "src/App.jsx") ?? "src/App.tsx";
    return (
      editFile(shown, read, addChat, SHOWN) ?? { ...dropFile(path), edits: [{ file: shown, edit: SHOWN }] }
    );
  }
  const isOurs = read("tsconfig.json")?.includes('"server"') ?? true;
  if (isOurs) return file;
  // the app's settings are for the page
  if (path === "package.json")
    return { path, text: file.text.replace("tsc -p .", "tsc -b && tsc -p tsconfig.server.json") };
  if (path !== "tsconfig.json") return file;
  const text = file.text.replace(/"src",\s*"server",\s*"scripts",\s*"vite.config.ts"/, '"server", "scripts"');
  return { path: "tsconfig.server.json", text };
}

function adaptToNext({ path, text }: File, read: App["read"]): Adapted {
  if (path === "tsconfig.json") return editFile(path, read, allowExtensions, EXTENSIONS) ?? { path, text };
  const folder = ["src/app", "app"].find((at) => read(`${at}/layout.tsx`) ?? read(`${at}/layout.jsx`));
  if (folder === undefined || read(`${folder}/page.tsx`)?.includes("ChatApp")) return { path, text };
  if (path === "scripts/invite.ts") return { path, text: text.replace("/#invite", "/chat#invite") };
  if (!path.startsWith("app/")) return { path, text };
  if (path === "app/layout.tsx") return dropFile(path);
  // the chat gets a separate page
  const isPage = path === "app/page.tsx";
  const deeper = (isPage ? 1 : 0) + (folder === "src/app" ? 1 : 0);
  return {
    path: path.replace("app/", `${folder}/`).replace("/page.tsx", isPage ? "/chat/page.tsx" : "/page.tsx"),
    text: text.replace(/(from ")((?:\.\.\/)+)/g, `$1${"../".repeat(deeper)}$2`),
  };
}

const isNewPage = (read: App["read"], page: string) =>
  read(page) !== undefined && !read(page)?.includes("ChatApp");

function adaptToStart(file: File, read: App["read"]): Adapted {
  const { path, text } = file;
  if (!isNewPage(read, "src/routes/index.tsx")) return file;
  switch (path) {
    case "scripts/invite.ts":
      return { path, text: text.replace("/#invite", "/chat#invite") };
    case "src/routes/index.tsx":
      return {
        path: "src/routes/chat.tsx",
        text: text.replace('createFileRoute("/")', 'createFileRoute("/chat")'),
      };
    case "src/routes/__root.tsx":
    case "src/router.tsx":
      return dropFile(path);
    case "vite.config.ts":
      return editFile(path, read, addCloudflare, SSR_PLUGIN) ?? file;
    case "tsconfig.json":
      return editFile(path, read, addNodeTypes, EXTENSIONS) ?? file;
    case "wrangler.jsonc":
      return editFile(path, read, addWorker, WRANGLER) ?? adaptToWrangler(file, read);
    default:
      return file;
  }
}

const SSR_PLUGIN = PLUGIN.replace("cloudflare()", 'cloudflare({ viteEnvironment: { name: "ssr" } })');
const WRANGLER = `"compatibility_flags": ["enable_request_signal"],
${WORKER.join(",\n")}
and in your Worker:
import { respond } from "./server/respond.ts";
if (new URL(request.url).pathname.startsWith("/api/")) return respond(request, env, context);`;

function adaptToWrangler(file: File, read: App["read"]): Adapted {
  const own = ["wrangler.jsonc", "wrangler.json", "wrangler.toml"].find((path) => read(path) !== undefined);
  if (own === undefined || read(own)?.includes("server/worker.ts")) return file;
  return { ...file, edits: [{ file: own, edit: WRANGLER }] };
}

/** Returns the edited file, or the edit for the user. Returns undefined if the file is missing. */
function editFile(
  path: string,
  read: App["read"],
  edit: (text: string) => string | undefined,
  inWords: string,
): Adapted | undefined {
  const before = read(path);
  if (before === undefined) return undefined;
  const text = edit(before);
  if (text === undefined) return { path, text: before, edits: [{ file: path, edit: inWords }] };
  return { path, text, isTheirs: true };
}
