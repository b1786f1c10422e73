import {
  type ByHand,
  CHAT_IMPORTS,
  WORKER,
  withChat,
  withCloudflare,
  withExtensions,
  withNodeTypes,
  withWorker,
} from "./edits.js";
import type { TemplateName } from "./templates.js";

interface File {
  readonly path: string;
  readonly text: string;
}

/** A file of a template, made fit for an app that exists. */
export interface Adapted extends File {
  /** True for a file of the app, whose text is edited. */
  readonly isTheirs?: boolean;
  /** Edits that are left to the user, in place of the file. */
  readonly edits?: readonly ByHand[];
}

interface App {
  readonly template: TemplateName;
  /** Reads a file of the app. */
  readonly read: (path: string) => string | undefined;
}

const nothing = (path: string): Adapted => ({ path, text: "", edits: [] });

/** Makes a file of a template fit for an app that exists: its place, or the edit of the app's own file of that purpose. */
export function adapted(file: File, { template, read }: App): Adapted {
  const own = read(file.path);
  if (own === file.text) return file;
  if (file.path === "README.md") return own?.includes(MARK) ? file : guideOf(file, template, read);
  if (template === "react") return adaptedToVite(file, read);
  if (template === "next") return adaptedToNext(file, read);
  if (template === "start") return adaptedToStart(file, read);
  if (file.path === "wrangler.jsonc") return adaptedToWrangler(file, read);
  return file.path === "tsconfig.json" ? (edited(file.path, read, withExtensions, EXTENSIONS) ?? file) : file;
}

/** A line of our own README. */
const MARK = " create sluice`.";
const EXTENSIONS = '"compilerOptions": { "allowImportingTsExtensions": true, "noEmit": true }';
const PLUGIN = `import { cloudflare } from "@cloudflare/vite-plugin";
plugins: [cloudflare(), …]`;
const SHOWN = `${CHAT_IMPORTS.join("\n")}
<ChatApp models={modelNames} />`;

/** The README, as a page beside that of the app. */
function guideOf({ text }: File, template: TemplateName, read: App["read"]): Adapted {
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

function adaptedToVite(file: File, read: App["read"]): Adapted {
  const found = (...paths: readonly string[]) => paths.find((path) => read(path) !== undefined);
  const { path } = file;
  if (path === "wrangler.jsonc") return adaptedToWrangler(file, read);
  if (path === "index.html") return read(path) === undefined ? file : nothing(path);
  if (path === "vite.config.ts") {
    const config = found(path, "vite.config.js", "vite.config.mjs", "vite.config.mts");
    return config === undefined ? file : (edited(config, read, withCloudflare, PLUGIN) ?? file);
  }
  if (path === "src/main.tsx") {
    if (read(path)?.includes("ChatApp")) return file;
    if (found(path, "src/main.jsx", "src/index.tsx", "src/index.jsx") === undefined) return file;
    const shown = found("src/App.tsx", "src/App.jsx") ?? "src/App.tsx";
    return (
      edited(shown, read, withChat, SHOWN) ?? { ...nothing(path), edits: [{ file: shown, edit: SHOWN }] }
    );
  }
  const isOurs = read("tsconfig.json")?.includes('"server"') ?? true;
  if (isOurs) return file;
  // theirs are for the page
  if (path === "package.json")
    return { path, text: file.text.replace("tsc -p .", "tsc -b && tsc -p tsconfig.server.json") };
  if (path !== "tsconfig.json") return file;
  const text = file.text.replace(/"src",\s*"server",\s*"scripts",\s*"vite.config.ts"/, '"server", "scripts"');
  return { path: "tsconfig.server.json", text };
}

function adaptedToNext({ path, text }: File, read: App["read"]): Adapted {
  if (path === "tsconfig.json") return edited(path, read, withExtensions, EXTENSIONS) ?? { path, text };
  const folder = ["src/app", "app"].find((at) => read(`${at}/layout.tsx`) ?? read(`${at}/layout.jsx`));
  if (folder === undefined || read(`${folder}/page.tsx`)?.includes("ChatApp")) return { path, text };
  if (path === "scripts/invite.ts") return { path, text: text.replace("/#invite", "/chat#invite") };
  if (!path.startsWith("app/")) return { path, text };
  if (path === "app/layout.tsx") return nothing(path);
  // the chat gets a page of its own
  const isPage = path === "app/page.tsx";
  const deeper = (isPage ? 1 : 0) + (folder === "src/app" ? 1 : 0);
  return {
    path: path.replace("app/", `${folder}/`).replace("/page.tsx", isPage ? "/chat/page.tsx" : "/page.tsx"),
    text: text.replace(/(from ")((?:\.\.\/)+)/g, `$1${"../".repeat(deeper)}$2`),
  };
}

const isNewPage = (read: App["read"], page: string) =>
  read(page) !== undefined && !read(page)?.includes("ChatApp");

function adaptedToStart(file: File, read: App["read"]): Adapted {
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
      return nothing(path);
    case "vite.config.ts":
      return edited(path, read, withCloudflare, SSR_PLUGIN) ?? file;
    case "tsconfig.json":
      return edited(path, read, withNodeTypes, EXTENSIONS) ?? file;
    case "wrangler.jsonc":
      return edited(path, read, withWorker, WRANGLER) ?? adaptedToWrangler(file, read);
    default:
      return file;
  }
}

const SSR_PLUGIN = PLUGIN.replace("cloudflare()", 'cloudflare({ viteEnvironment: { name: "ssr" } })');
const WRANGLER = `"compatibility_flags": ["enable_request_signal"],
${WORKER.join(",\n")}
and in your Worker:
import { answer } from "./server/answer.ts";
if (new URL(request.url).pathname.startsWith("/api/")) return answer(request, env, context);`;

function adaptedToWrangler(file: File, read: App["read"]): Adapted {
  const own = ["wrangler.jsonc", "wrangler.json", "wrangler.toml"].find((path) => read(path) !== undefined);
  if (own === undefined || read(own)?.includes("server/worker.ts")) return file;
  return { ...file, edits: [{ file: own, edit: WRANGLER }] };
}

/** Returns the edited file, or the edit for its user; undefined where the file is missing. */
function edited(
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
