import {
  addChat,
  addCloudflare,
  addNodeTypes,
  addWorker,
  allowExtensions,
  CHAT_IMPORTS,
  type ManualEdit,
  WORKER,
} from "./edits.js";
import type { TemplateName } from "./templates.js";

/** A file of a template. */
interface File {
  readonly path: string;
  readonly text: string;
}

/** A file of a template, adapted to an existing app. */
export interface Adapted extends File {
  /** True for an edited file of the app, false for a new file. @default false */
  readonly isAppFile?: boolean;
  /** Edits that the user must make, in place of the file. */
  readonly edits?: readonly ManualEdit[];
}

/** An existing app. */
interface App {
  readonly template: TemplateName;
  /** Reads a file of the app. */
  readonly read: (path: string) => string | undefined;
}

/** A template file that the app does not need. */
const dropFile = (path: string): Adapted => ({ path, text: "", edits: [] });

/** Adapts a file of a template to an existing app: moves the file, or edits the app's file with the same purpose. */
export function adapt(file: File, { template, read }: App): Adapted {
  const existing = read(file.path);
  if (existing === file.text) return file;
  if (file.path === "README.md")
    return existing?.includes(README_MARK) ? file : createGuide(file, template, read);
  if (template === "react") return adaptToVite(file, read);
  if (template === "next") return adaptToNext(file, read);
  if (template === "start") return adaptToStart(file, read);
  if (file.path === "wrangler.jsonc") return adaptToWrangler(file, read);
  return file.path === "tsconfig.json"
    ? (editFile(file.path, read, allowExtensions, EXTENSIONS_EDIT) ?? file)
    : file;
}

/** Text of the template's README, which tells it from an app's. */
const README_MARK = " create sluice`.";
/** Manual edits, for files that this command cannot edit. */
const EXTENSIONS_EDIT = '"compilerOptions": { "allowImportingTsExtensions": true, "noEmit": true }';
const PLUGIN_EDIT = `import { cloudflare } from "@cloudflare/vite-plugin";
plugins: [cloudflare(), …]`;
const CHAT_EDIT = `${CHAT_IMPORTS.join("\n")}
<ChatApp models={modelNames} />`;

/** Returns the README as a separate page, beside the app's README. */
function createGuide({ text }: File, template: TemplateName, read: App["read"]): Adapted {
  const hasPage = template === "next" || template === "start";
  const guide = hasPage ? text.replace("Open the address", "Open `/chat` at the address") : text;
  const { scripts = {} }: { scripts?: Readonly<Record<string, string>> } = JSON.parse(
    read("package.json") ?? "{}",
  );
  const hasOwnDeploy = scripts["deploy"] !== undefined && !scripts["deploy"].includes("check:deploy");
  return {
    path: "SLUICE.md",
    text: hasOwnDeploy ? guide.replaceAll(" run deploy`", " run sluice:deploy`") : guide,
  };
}

function adaptToVite(file: File, read: App["read"]): Adapted {
  const findFirst = (...paths: readonly string[]) => paths.find((path) => read(path) !== undefined);
  const { path } = file;
  if (path === "wrangler.jsonc") return adaptToWrangler(file, read);
  if (path === "index.html") return read(path) === undefined ? file : dropFile(path);
  if (path === "vite.config.ts") {
    const config = findFirst(path, "vite.config.js", "vite.config.mjs", "vite.config.mts");
    return config === undefined ? file : (editFile(config, read, addCloudflare, PLUGIN_EDIT) ?? file);
  }
  if (path === "src/main.tsx") {
    if (read(path)?.includes("ChatApp")) return file;
    if (findFirst(path, "src/main.jsx", "src/index.tsx", "src/index.jsx") === undefined) return file;
    const component = findFirst("src/App.tsx", "src/App.jsx") ?? "src/App.tsx";
    return (
      editFile(component, read, addChat, CHAT_EDIT) ?? {
        ...dropFile(path),
        edits: [{ file: component, edit: CHAT_EDIT }],
      }
    );
  }
  const coversServer = read("tsconfig.json")?.includes('"server"') ?? true;
  if (coversServer) return file;
  // the app's tsconfig.json is for the page: the server gets a separate one
  if (path === "package.json")
    return { path, text: file.text.replace("tsc -p .", "tsc -b && tsc -p tsconfig.server.json") };
  if (path !== "tsconfig.json") return file;
  const text = file.text.replace(/"src",\s*"server",\s*"scripts",\s*"vite.config.ts"/, '"server", "scripts"');
  return { path: "tsconfig.server.json", text };
}

function adaptToNext({ path, text }: File, read: App["read"]): Adapted {
  if (path === "tsconfig.json")
    return editFile(path, read, allowExtensions, EXTENSIONS_EDIT) ?? { path, text };
  const folder = ["src/app", "app"].find(
    (appFolder) => read(`${appFolder}/layout.tsx`) ?? read(`${appFolder}/layout.jsx`),
  );
  if (folder === undefined || read(`${folder}/page.tsx`)?.includes("ChatApp")) return { path, text };
  if (path === "scripts/invite.ts") return { path, text: text.replace("/#invite", "/chat#invite") };
  if (!path.startsWith("app/")) return { path, text };
  if (path === "app/layout.tsx") return dropFile(path);
  // the chat gets a separate page
  const isPage = path === "app/page.tsx";
  const addedDepth = (isPage ? 1 : 0) + (folder === "src/app" ? 1 : 0);
  return {
    path: path.replace("app/", `${folder}/`).replace("/page.tsx", isPage ? "/chat/page.tsx" : "/page.tsx"),
    text: text.replace(/(from ")((?:\.\.\/)+)/g, `$1${"../".repeat(addedDepth)}$2`),
  };
}

function adaptToStart(file: File, read: App["read"]): Adapted {
  const { path, text } = file;
  const home = read("src/routes/index.tsx");
  if (home === undefined || home.includes("ChatApp")) return file;
  // the chat gets a separate page
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
      return editFile(path, read, addCloudflare, SSR_PLUGIN_EDIT) ?? file;
    case "tsconfig.json":
      return editFile(path, read, addNodeTypes, EXTENSIONS_EDIT) ?? file;
    case "wrangler.jsonc":
      return editFile(path, read, addWorker, WRANGLER_EDIT) ?? adaptToWrangler(file, read);
    default:
      return file;
  }
}

const SSR_PLUGIN_EDIT = PLUGIN_EDIT.replace(
  "cloudflare()",
  'cloudflare({ viteEnvironment: { name: "ssr" } })',
);
const WRANGLER_EDIT = `"compatibility_flags": ["enable_request_signal"],
${WORKER.join(",\n")}
and in your Worker:
import { respond } from "./server/respond.ts";
if (new URL(request.url).pathname.startsWith("/api/")) return respond(request, env, context);`;

function adaptToWrangler(file: File, read: App["read"]): Adapted {
  const existing = ["wrangler.jsonc", "wrangler.json", "wrangler.toml"].find(
    (path) => read(path) !== undefined,
  );
  if (existing === undefined || read(existing)?.includes("server/worker.ts")) return file;
  return { ...file, edits: [{ file: existing, edit: WRANGLER_EDIT }] };
}

/** Edits a file of the app, or returns the manual edit if `edit` does not understand the file. Undefined without a file. */
function editFile(
  path: string,
  read: App["read"],
  edit: (text: string) => string | undefined,
  manualEdit: string,
): Adapted | undefined {
  const before = read(path);
  if (before === undefined) return undefined;
  const text = edit(before);
  if (text === undefined) return { path, text: before, edits: [{ file: path, edit: manualEdit }] };
  return { path, text, isAppFile: true };
}
