import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { searchOptions } from "../../docs/.vitepress/search.ts";

/* The search of the built site, with the index and the options that its page has. Left out where no site is built. */

interface Index {
  search(query: string): readonly { readonly id: string }[];
}
interface SearchEngine {
  loadJSON(json: string, options: object): Index;
}

const docs = join(import.meta.dirname, "../../docs");
let index: Index;

beforeAll(async () => {
  // the engine that the site's theme brings
  const require = createRequire(join(docs, "node_modules/vitepress/package.json"));
  const theme = createRequire(require.resolve("vitepress/package.json"));
  const MiniSearch = theme("minisearch") as SearchEngine;
  const [file = ""] = globSync("dist/assets/chunks/@localSearchIndexroot*.js", { cwd: docs });
  const { default: json } = (await import(/* @vite-ignore */ join(docs, file))) as { default: string };
  index = MiniSearch.loadJSON(json, searchOptions);
});

/** Pages of the results, the best first. */
const found = (query: string) => [
  ...new Set(index.search(query).map(({ id }) => id.replace(/^.*?(?=\/\w)|(?:\.html)?(?:#.*)?$/g, ""))),
];

/** Queries of a page that has to be the first result. */
const first: Readonly<Record<string, readonly string[]>> = {
  "/start/install": ["install"],
  "/start/next": ["next.js", "server rendering"],
  "/start/scripts": ["node script", "deno"],
  "/guides/chat-in-react": [
    "react chat",
    "stream chat react",
    "stop button",
    "system prompt",
    "markdown rendering",
  ],
  "/guides/tools": ["tool calling", "human approval"],
  "/guides/structured-output": ["structured output", "zod"],
  "/guides/save-and-resume-chats": ["persist chat reload", "resume stream", "sign out"],
  "/guides/errors-and-retries": ["retry 429"],
  "/guides/costs": ["cost per message", "was I charged twice"],
  "/guides/files-and-uploads": ["file upload"],
  "/guides/video-tasks": ["video generation polling"],
  "/guides/where-data-is-stored": ["postgres", "cloudflare durable objects"],
  "/guides/deploy-proxy": ["api key in browser"],
  "/guides/sign-in": ["401 unauthorized", "clerk"],
  "/guides/limits-and-budgets": ["rate limit", "budget per user", "messages per day"],
  "/guides/resumable-streams-and-idempotency": ["idempotency key"],
  "/guides/watch-videos-and-webhooks": ["webhook"],
  "/guides/store-files": ["s3 bucket"],
  "/guides/operate": ["opentelemetry", "delete user data"],
  "/guides/emulator": ["mock api in tests"],
  "/guides/migrate": ["useChat migration"],
  "/guides/other-clients": ["openai compatible"],
  "/guides/other-frameworks": ["vue"],
  "/troubleshooting": ["cors error"],
};

test.each(Object.entries(first).flatMap(([page, queries]) => queries.map((query) => [query, page] as const)))(
  "“%s” finds %s first",
  (query, page) => {
    expect(found(query)[0]).toBe(page);
  },
);

/** Queries of a page that has to be among the first three results. */
const early: Readonly<Record<string, readonly string[]>> = {
  "/start/scripts": ["express", "fastify", "sveltekit"],
  "/start/next": ["ssr"],
  "/guides/chat-in-react": ["branches", "edit message", "image upload"],
  "/guides/tools": ["function calling"],
  "/guides/save-and-resume-chats": ["save chats", "conversation", "session expired", "resume"],
  "/guides/errors-and-retries": ["german", "translate", "i18n"],
  "/guides/costs": ["price", "token count"],
  "/guides/other-frameworks": ["mobile"],
  "/guides/other-clients": ["langchain"],
  "/guides/ai-sdk": ["ai sdk"],
  "/guides/mcp": ["mcp"],
  "/troubleshooting": ["cors"],
  "/supported-platforms": ["safari"],
  "/recipes/chats-in-your-database": ["database"],
  "/recipes/moderation": ["moderation"],
  "/guides/limits-and-budgets": ["quota", "free plan"],
  "/guides/sign-in": ["auth0", "supabase", "firebase", "next-auth", "cloudflare access", "login", "jwt"],
  "/guides/operate": ["sentry", "datadog", "gdpr", "delete user"],
  "/guides/deploy-proxy": ["rotate key", "deploy"],
  "/guides/emulator": ["github actions", "mock"],
  "/reference/stores-chat": ["maxSteps"],
  "/reference/usechatstream": ["useChatStream"],
};

test.each(Object.entries(early).flatMap(([page, queries]) => queries.map((query) => [query, page] as const)))(
  "“%s” finds %s among the first three",
  (query, page) => {
    expect(found(query).slice(0, 3)).toContain(page);
  },
);
