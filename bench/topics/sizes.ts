import { gzipSync } from "node:zlib";
import { type Built, type BuiltFile, bundlers } from "../bundlers.ts";
import { formatTable, put, type Report } from "../topic.ts";

export const title = "Bundle sizes";

const parser = 'import { createParser } from "eventsource-parser"; console.log(createParser)';
/** Programs that import all that a page with the feature needs, by feature and client. */
export const programs: Record<string, Record<string, string>> = {
  "one streamed response": {
    Sluice: 'import { createClient, streamChat } from "@sluice/core"; console.log(createClient, streamChat)',
    openai: 'import OpenAI from "openai"; console.log(OpenAI)',
    "AI SDK":
      'import { streamText } from "ai"; import { createOpenAICompatible } from "@ai-sdk/openai-compatible"; console.log(streamText, createOpenAICompatible)',
    xsai: 'import { streamText } from "xsai"; console.log(streamText)',
    "eventsource-parser + JSON.parse": parser,
  },
  "a chat in React": {
    Sluice:
      'import { createClient } from "@sluice/core"; import { GatewayProvider, useChatStream } from "@sluice/react"; console.log(createClient, GatewayProvider, useChatStream)',
    "AI SDK": 'import { useChat } from "@ai-sdk/react"; console.log(useChat)',
    "TanStack AI":
      'import { fetchServerSentEvents, useChat } from "@tanstack/ai-react"; console.log(fetchServerSentEvents, useChat)',
  },
};

export async function measure(): Promise<Report> {
  const columns: Record<string, Record<string, string>> = {};
  for (const [name, sources] of Object.entries(programs))
    for (const [client, source] of Object.entries(sources)) {
      const byVite = await bundlers.Vite(source);
      put(columns, `${name}, Vite, at once`, client, formatKilobytes(byVite, false));
      put(columns, `${name}, Vite, in all`, client, formatKilobytes(byVite, true));
      put(
        columns,
        `${name}, esbuild, at once`,
        client,
        formatKilobytes(await bundlers.esbuild(source), false),
      );
    }
  const rows = Object.keys(programs).flatMap((name) =>
    ["at once", "in all"].map((part) => ({
      measure: `${name}, minified and compressed, without React, ${part}`,
      texts: columns[`${name}, Vite, ${part}`] ?? {},
    })),
  );
  const own: Record<string, Record<string, string>> = {};
  for (const [name, sources] of Object.entries(programs))
    for (const [bundler, bundle] of Object.entries(bundlers)) {
      const files = await bundle(sources.Sluice as string);
      put(own, `${name}, at once`, bundler, formatKilobytes(files, false));
      put(own, `${name}, in all`, bundler, formatKilobytes(files, true));
    }
  return {
    markdown: `Each program is bundled for browsers, minified and compressed with gzip. React is not counted. \`at once\` counts the files that the program loads when it starts. \`in all\` also counts the files that it may load later. The summary shows both for Vite. With Vite, \`at once\` is 0.8 kB more than \`pnpm check size\` measures: Vite adds its own code for files that load later. esbuild runs with \`--splitting\`. Its figures are larger, because it keeps dynamic imports in functions that the program never calls, and then moves code that they share with the program into extra files.\n\n${formatTable("bundle", columns)}\n\nSluice by bundler:\n\n${formatTable("bundler", own)}`,
    summary: rows,
  };
}

/** Writes the compressed size of a program. `withLater` adds the files that it may load later. */
export function formatKilobytes(files: Built, withLater: boolean): string {
  const loaded = new Set<BuiltFile>();
  for (const file of files.values()) if (file.isEntry) follow(file);
  const bytes = [...loaded].map(({ code }) => gzipSync(code, { level: 9 }).length);
  return `${(bytes.reduce((sum, length) => sum + length, 0) / 1000).toFixed(1)} kB`;

  function follow(file: BuiltFile | undefined): void {
    if (!file || loaded.has(file)) return;
    loaded.add(file);
    for (const name of [...file.imports, ...(withLater ? file.later : [])]) follow(files.get(name));
  }
}
