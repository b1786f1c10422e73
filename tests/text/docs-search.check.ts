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
  postgres: "/recipes/chats-on-your-server",
  database: "/recipes/chats-on-your-server",
  "save chats": "/guides/storage",
  german: "/recipes/german",
  translate: "/recipes/german",
  i18n: "/recipes/german",
  mobile: "/guides/react-native",
  "rate limit": "/guides/proxy-caps",
  quota: "/guides/proxy-budgets",
  "free plan": "/recipes/messages-a-day",
  moderation: "/recipes/moderation",
  clerk: "/recipes/sign-in-clerk",
  auth0: "/recipes/sign-in-auth0",
  supabase: "/recipes/sign-in-supabase",
  firebase: "/recipes/sign-in-firebase",
  "next-auth": "/recipes/sign-in-authjs",
  "cloudflare access": "/recipes/sign-in-cloudflare-access",
  login: "/guides/proxy-sign-in",
  jwt: "/guides/proxy-sign-in",
  "session expired": "/recipes/session-ends",
  branches: "/guides/chat-in-react",
  conversation: "/guides/chat-in-react",
  "stop button": "/guides/chat-in-react",
  "edit message": "/guides/chat-in-react",
  "image upload": "/guides/images-in-a-chat",
  "system prompt": "/guides/system-prompts",
  "function calling": "/guides/tools",
  zod: "/guides/structured-output",
  opentelemetry: "/guides/opentelemetry",
  sentry: "/recipes/observability",
  datadog: "/recipes/observability",
  express: "/recipes/own-backend",
  fastify: "/recipes/own-backend",
  sveltekit: "/recipes/own-backend",
  gdpr: "/recipes/export-and-erase",
  "delete user": "/recipes/export-and-erase",
  "rotate key": "/recipes/key-rotation",
  "github actions": "/recipes/ci",
  mock: "/guides/testing",
  price: "/recipes/cost-on-screen",
  "token count": "/recipes/cost-on-screen",
  webhook: "/guides/proxy-notifications",
  cors: "/troubleshooting",
  deploy: "/guides/proxy-deploying",
  ssr: "/guides/server-rendering",
  langchain: "/guides/other-clients",
  "ai sdk": "/guides/from-use-chat",
  resume: "/guides/resumable-streams",
  maxSteps: "/reference/react",
  useChatStream: "/reference/usechatstream",
};

test.each(Object.entries(queries))("“%s” finds %s among the first three", (query, page) => {
  expect(found(query)).toContain(page);
});
