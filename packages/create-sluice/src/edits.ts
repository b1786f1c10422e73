/*
 * Edits of an app's own files. Each edit returns the whole text. It returns the same text if nothing is missing, and
 * undefined if it does not understand the file.
 */

/** An edit that the user must make. */
export interface ManualEdit {
  readonly file: string;
  readonly edit: string;
}

/** Adds the Vite plugin that runs the Worker beside the page. */
export function addCloudflare(text: string): string | undefined {
  if (text.includes("@cloudflare/vite-plugin")) return text;
  const lists = [...text.matchAll(/\bplugins:\s*\[/g)];
  const [list] = lists;
  if (!list || lists.length > 1) return undefined;
  const end = list.index + list[0].length;
  const rest = text.slice(end);
  const [, newLine = ""] = /^(\s*\n\s*)\S/.exec(rest) ?? [];
  const isEmpty = /^\s*\]/.test(rest);
  const plugin = isEmpty ? "cloudflare()" : newLine === "" ? "cloudflare(), " : `${newLine}cloudflare(),`;
  return addImports(text.slice(0, end) + plugin + rest, [
    'import { cloudflare } from "@cloudflare/vite-plugin";',
  ]);
}

/** Shows the chat at the top of the component that a file exports. */
export function addChat(text: string): string | undefined {
  if (text.includes("ChatApp")) return text;
  const firstElements = [
    ...text.matchAll(/return \(\n(\s*)<(?:>|\w+(?: className=(?:"[^"]*"|'[^']*'))?>)\n/g),
  ];
  const [first] = firstElements;
  if (!first || firstElements.length > 1) return undefined;
  const end = first.index + first[0].length;
  const chat = `${first[1]}  <ChatApp models={modelNames} />\n`;
  return addImports(text.slice(0, end) + chat + text.slice(end), CHAT_IMPORTS);
}

export const CHAT_IMPORTS = [
  'import { modelNames } from "../server/models";',
  'import { ChatApp } from "./chat/app";',
];

/** Allows imports with the file extension, as Node requires them. */
export function allowExtensions(text: string): string | undefined {
  if (/"allowImportingTsExtensions": true/.test(text)) return text;
  const options = /"compilerOptions":\s*\{\n(\s*)/.exec(text);
  if (!options || !/"noEmit": true/.test(text)) return undefined;
  const end = options.index + options[0].length;
  return `${text.slice(0, end)}"allowImportingTsExtensions": true,\n${options[1]}${text.slice(end)}`;
}

/** Edits like {@link allowExtensions}, and adds the types of Node. */
export function addNodeTypes(text: string): string | undefined {
  if (/"types": \[[^\]]*"node"/.test(text)) return allowExtensions(text);
  const typed = text.replace(/"types": \[/, '"types": ["node", ');
  return typed === text ? undefined : allowExtensions(typed);
}

/** Uses our Worker in an app of TanStack Start, and adds its settings. */
export function addWorker(text: string): string | undefined {
  if (text.includes("server/worker.ts")) return text;
  const main = /^( *)"main": "@tanstack\/react-start\/server-entry"/m.exec(text);
  if (!main || /"(?:secrets|ratelimits)":/.test(text)) return undefined;
  const lines = ['"main": "server/worker.ts"', ...WORKER].map((line) => `${main[1]}${line}`).join(",\n");
  return text
    .replace(main[0], () => lines)
    .replace(/("compatibility_flags": \[[^\]]*)\]/, '$1, "enable_request_signal"]');
}

/** Settings of the Worker in wrangler.jsonc. */
export const WORKER = [
  '"secrets": { "required": ["APP_URL", "GATEWAY_URL", "GATEWAY_API_KEY", "SESSION_SECRET"] }',
  '"ratelimits": [{ "name": "RATE_LIMITER", "namespace_id": "7301", "simple": { "limit": 30, "period": 60 } }]',
];

/** Adds imports at the top, with the quotes and semicolons of the first import. */
function addImports(text: string, lines: readonly string[]): string {
  const [firstImport = ""] = /^import .*$/m.exec(text) ?? [];
  const styled = lines.map((line) => {
    const quoted = firstImport.includes("'") ? line.replaceAll('"', "'") : line;
    return firstImport === "" || firstImport.trimEnd().endsWith(";") ? quoted : quoted.slice(0, -1);
  });
  const start = text.indexOf(firstImport);
  return `${text.slice(0, start)}${styled.join("\n")}\n${text.slice(start)}`;
}
