import type { ObjectNamespace } from "@sluice/durable";
import { openObjects } from "@sluice/durable/node";
import { conversations, conversationsObject } from "@sluice/sync/server";
import { createProxy } from "@sluice/worker-proxy";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { type Figure, figureOf, inTurns, ratioOf } from "../harness.ts";
import { type BenchPage, openPage } from "../page.ts";
import type { Opened } from "../pages/opening.ts";
import { type Report, tableOf } from "../topic.ts";

export const title = "Opening a long conversation";

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
}

/** Lengths of the conversation, in messages, and the rounds of each. */
const lengths = [
  { count: 2000, rounds: 25 },
  { count: 10_000, rounds: 11 },
];
const names = {
  local: "`indexedDBStorage`",
  synced: "`remoteStorage`, known here",
  new: "`remoteStorage`, new here",
} as const;
type Subject = keyof typeof names;
const subjects = Object.keys(names) as readonly Subject[];

export async function measure(): Promise<Report> {
  const server = openServer(() => bench.page.url());
  const bench = await openPage("pages/opening.ts", server.answer);
  const tables: string[] = [];
  for (const { count, rounds } of lengths) tables.push(await tableFor(bench, count, rounds));
  await bench.close();
  await server.close();
  return {
    markdown: [
      "A chat store over a conversation of half a kilobyte a message in Chromium, each run in a page just loaded: the time from its creation until it shows the newest messages, and until it has all. `known here` has the copy of an earlier visit, and asks the server what is new; `new here` reads all from a proxy on Node, which shares the machine. `÷ local` is the first column over that of `indexedDBStorage` in the same round. The goal is 1.5 for 2,000 messages that are known here.",
      ...tables,
    ].join("\n\n"),
  };
}

/** Writes a conversation in one browser, reads it in a second one, and measures. */
async function tableFor({ page, run }: BenchPage, count: number, rounds: number): Promise<string> {
  await run("keep", "local", count, true);
  await run("keep", "first", count, true);
  await run("keep", "synced", count, false);
  const opened: Record<Subject, Opened[]> = { local: [], synced: [], new: [] };
  let visits = 0;
  const values = await inTurns(
    subjects,
    async (subject) => {
      await page.reload();
      const one = await run<Opened>("open", subject === "new" ? `new-${++visits}` : subject, count);
      opened[subject].push(one);
      return one.allMs;
    },
    { rounds, budgetMs: Number.POSITIVE_INFINITY },
  );
  // the runs before these have warmed up
  const all = (subject: Subject, field: keyof Opened) =>
    opened[subject].slice(-values[subject].length).map((one) => one[field]);
  const column = (of: (subject: Subject) => Figure) =>
    Object.fromEntries(subjects.map((subject) => [names[subject], of(subject)]));
  return tableOf(`${count.toLocaleString("en")} messages`, {
    "newest shown, ms": column((subject) => figureOf(all(subject, "firstMs"))),
    "÷ local": column((subject) => ratioOf(all(subject, "firstMs"), all("local", "firstMs"))),
    "all shown, ms": column((subject) => figureOf(all(subject, "allMs"))),
  });
}

/** A proxy that keeps conversations in this process. */
function openServer(addressOfPage: () => string) {
  const kept = { namespace: (env: Env) => env.CONVERSATIONS, recordsPerConversation: 20_000 };
  const objects = openObjects({
    file: ":memory:",
    env: {},
    objects: { CONVERSATIONS: conversationsObject<Env>(kept) },
  });
  const proxy = createProxy<Env>({
    baseURL: "https://gateway.test",
    apiKey: () => "sk-a-key-for-the-bench-0123456789",
    authenticate: () => ({ id: "ada" }),
    origins: () => [new URL(addressOfPage()).origin],
    models: ["delta-5.3"],

    plugins: [conversations<Env>(kept)],
  });
  return {
    answer: toNodeHandler((request) => proxy.fetch(request, objects.env as Env)),
    close: () => objects.close(0),
  };
}
