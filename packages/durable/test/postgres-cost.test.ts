import { Budget, budget, type ObjectNamespace, streamLog, streamLogObject } from "@sluice/durable";
import { openObjects } from "@sluice/durable/postgres";
import { createProxy } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { newSchema, openSQL, url } from "./support/postgres.js";

interface Env {
  readonly BUDGET: ObjectNamespace;
  readonly LOG: ObjectNamespace;
}

/** Opens a proxy whose answers are kept and metered, and counts the queries of its objects. */
async function openProxy(answer: () => ReadableStream<Uint8Array>) {
  const queries: string[] = [];
  const schema = newSchema();
  const debug = (_: number, query: string) => {
    const [, name] = /\.(\w+)\(/.exec(query) ?? [];
    // those of the process itself are the same for any number of answers
    if (name && !["beat", "due", "leave"].includes(name)) queries.push(name);
  };
  const meter = budget<Env>({
    namespace: (env) => env.BUDGET,
    limits: { user: 1_000_000 },
    windowMs: 86_400_000,
    reserveFor: () => 100,
  });
  const gateway = {
    baseURL: "https://gateway.example",
    apiKey: () => "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg",
    fetch: async () => new Response(answer(), { headers: { "content-type": "text/event-stream" } }),
  };
  const objects = await openObjects({
    url,
    schema,
    connection: { debug },
    env: {},
    objects: {
      BUDGET: Budget,
      LOG: streamLogObject<Env>({ ...gateway, meter, namespace: (env) => env.LOG }),
    },
  });
  onTestFinished(() => objects.close(0));
  const proxy = createProxy<Env>({
    ...gateway,
    authenticate: () => ({ id: "user-1" }),
    origins: [],
    models: ["delta-5.3"],
    plugins: [meter, streamLog((env) => env.LOG)],
  });
  const ask = () =>
    proxy.fetch(
      new Request("https://proxy.example/v1/chat/completions", {
        method: "POST",
        body: JSON.stringify({
          model: "delta-5.3",
          stream: true,
          messages: [{ role: "user", content: "hi" }],
        }),
        headers: { "content-type": "application/json" },
      }),
      objects.env,
    );
  return { ask, queries, schema };
}

/** An answer that goes on for some seconds. */
function answerOf(seconds: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      const until = performance.now() + seconds * 1_000;
      for (let piece = 0; performance.now() < until; piece += 1) {
        controller.enqueue(encoder.encode(chunk(`${piece} `)));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      controller.enqueue(encoder.encode(finish + done));
      controller.close();
    },
  });
}

test("A kept and metered answer of half a minute takes at most 12 queries, and at most 10 where its user had one before", async () => {
  const seconds = [28, 1];
  const { ask, queries, schema } = await openProxy(() => answerOf(seconds.shift() ?? 0));
  const sql = openSQL();
  /** Answers that are settled: their first row has no job any more. */
  const settled = async () => {
    const done = sql`place = '["answer",0]' AND row LIKE '%,null]'`;
    return (await sql`SELECT count(*)::int AS n FROM ${sql(schema)}.rows WHERE ${done}`)[0]?.["n"];
  };
  const counts: number[] = [];
  for (const answer of [1, 2]) {
    queries.length = 0;
    expect(await (await ask()).text()).toContain("[DONE]");
    await expect.poll(settled, { timeout: 20_000 }).toBe(answer);
    counts.push(queries.length);
  }
  expect(counts[0], queries.join(" ")).toBeLessThanOrEqual(12);
  // the budget and the list of the user have left memory meanwhile, and are this process's still
  expect(counts[1], queries.join(" ")).toBeLessThanOrEqual(10);
});
