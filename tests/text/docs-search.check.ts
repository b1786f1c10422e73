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

/** Pages of the first three results. */
const found = (query: string) =>
  index
    .search(query)
    .slice(0, 3)
    .map(({ id }) => id.replace(/\.html.*/, ""));

/** Queries as people write them, with a page that has to be among the first three results. */
const queries: Readonly<Record<string, string>> = {
  postgres: "/guides/where-data-is-stored",
  database: "/recipes/chats-in-your-database",
  "save chats": "/guides/storage",
  german: "/recipes/german",
  translate: "/recipes/german",
  i18n: "/recipes/german",
  mobile: "/guides/react-native",
  "rate limit": "/guides/limits-and-budgets",
  quota: "/guides/limits-and-budgets",
  "free plan": "/guides/limits-and-budgets",
  moderation: "/recipes/moderation",
  clerk: "/guides/sign-in",
  auth0: "/guides/sign-in",
  supabase: "/guides/sign-in",
  firebase: "/guides/sign-in",
  "next-auth": "/guides/sign-in",
  "cloudflare access": "/guides/sign-in",
  login: "/guides/sign-in",
  jwt: "/guides/sign-in",
  "session expired": "/recipes/session-ends",
  branches: "/guides/chat-in-react",
  conversation: "/guides/chat-in-react",
  "stop button": "/guides/chat-in-react",
  "edit message": "/guides/chat-in-react",
  "image upload": "/guides/images-in-a-chat",
  "system prompt": "/guides/system-prompts",
  "function calling": "/guides/tools",
  zod: "/guides/structured-output",
  opentelemetry: "/guides/operate",
  sentry: "/guides/operate",
  datadog: "/guides/operate",
  express: "/recipes/own-backend",
  fastify: "/recipes/own-backend",
  sveltekit: "/recipes/own-backend",
  gdpr: "/guides/operate",
  "delete user": "/guides/operate",
  "rotate key": "/guides/deploy-proxy",
  "github actions": "/guides/emulator",
  mock: "/guides/emulator",
  price: "/recipes/cost-on-screen",
  "token count": "/recipes/cost-on-screen",
  webhook: "/guides/watch-videos-and-webhooks",
  cors: "/troubleshooting",
  deploy: "/guides/deploy-proxy",
  ssr: "/guides/server-rendering",
  langchain: "/guides/other-clients",
  "ai sdk": "/guides/from-use-chat",
  resume: "/guides/resumable-streams-and-idempotency",
  "api key in browser": "/guides/deploy-proxy",
  "401 unauthorized": "/guides/sign-in",
  "budget per user": "/guides/limits-and-budgets",
  "messages per day": "/guides/limits-and-budgets",
  "idempotency key": "/guides/resumable-streams-and-idempotency",
  "s3 bucket": "/guides/store-files",
  "cloudflare durable objects": "/guides/where-data-is-stored",
  "delete user data": "/guides/operate",
  "mock api in tests": "/guides/emulator",
  "file upload": "/guides/files-and-uploads",
  "video generation polling": "/guides/video-tasks",
  "react query": "/recipes/tanstack-query",
  maxSteps: "/reference/core-chat",
  useChatStream: "/reference/react",
};

test.each(Object.entries(queries))("“%s” finds %s among the first three", (query, page) => {
  expect(found(query)).toContain(page);
});
