import { Budget, budget, type ObjectNamespace, streamLog, streamLogObject } from "@sluice/durable";
import { openObjects } from "@sluice/durable/postgres";
import { createProxy } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { newSchema, url } from "./support/postgres.js";

interface Env {
  readonly BUDGET: ObjectNamespace;
  readonly LOG: ObjectNamespace;
}

/** Opens a proxy whose answers are kept and metered, and counts the queries of its objects. */
async function openProxy(answer: () => ReadableStream<Uint8Array>) {
  const queries: string[] = [];
  const debug = (_: number, query: string) => {
    const [, name] = /\.(\w+)\(/.exec(query) ?? [];
    // those of the process itself are the same for any number of answers
    if (name && name !== "beat" && name !== "leave") queries.push(name);
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
    schema: newSchema(),
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
    meter,
    extensions: [streamLog((env) => env.LOG)],
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
  return { ask, queries };
}

/** An answer that goes on for some seconds. */
function answerOf(seconds: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      for (let piece = 0; piece < seconds * 10; piece += 1) {
        controller.enqueue(encoder.encode(chunk(`${piece} `)));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      controller.enqueue(encoder.encode(finish + done));
      controller.close();
    },
  });
}

test("A kept and metered answer of 30 s takes at most 12 queries, and a second one of its user fewer", async () => {
  let seconds = 30;
  const { ask, queries } = await openProxy(() => answerOf(seconds));
  const before = queries.length;
  expect(await (await ask()).text()).toContain("[DONE]");
  // what is settled behind the answer
  await expect.poll(() => queries.filter((name) => name === "keep").length).toBeGreaterThanOrEqual(6);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const first = queries.slice(before);
  console.log(first.join(" "));
  expect(first.length).toBeLessThanOrEqual(12);
  seconds = 1;
  const at = queries.length;
  expect(await (await ask()).text()).toContain("[DONE]");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  console.log(queries.slice(at).join(" "));
  expect(queries.length - at).toBeLessThan(first.length);
});
