import { Budget, budget, type ObjectNamespace, streamLog, streamLogObject } from "@sluice/durable";
import { openObjects } from "@sluice/durable/postgres";
import { createProxy, type JobEvent } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { newSchema, url } from "./support/postgres.js";

interface Env {
  readonly BUDGET: ObjectNamespace;
  readonly LOG: ObjectNamespace;
}

/** Opens a process of a proxy whose answers are kept and metered; all of a schema share one gateway. */
async function openProcess(schema: string, fetch: () => Promise<Response>) {
  const jobs: JobEvent[] = [];
  const meter = budget<Env>({
    namespace: (env) => env.BUDGET,
    limits: { user: 1_000_000 },
    windowMs: 86_400_000,
    reserveFor: () => 100,
  });
  const gateway = {
    baseURL: "https://gateway.example",
    apiKey: () => "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg",
    fetch,
  };
  const onEvent = (event: JobEvent) => void jobs.push(event);
  const LOG = streamLogObject<Env>({ ...gateway, meter, namespace: (env) => env.LOG, onEvent });
  const objects = await openObjects({ url, schema, env: {}, objects: { BUDGET: Budget, LOG } });
  onTestFinished(() => objects.close(0));
  const proxy = createProxy<Env>({
    ...gateway,
    authenticate: () => ({ id: "user-1" }),
    origins: [],
    models: ["delta-5.3"],
    plugins: [meter, streamLog((env) => env.LOG)],
  });
  const send = (path: string, init: RequestInit = {}) =>
    proxy.fetch(new Request(`https://proxy.example${path}`, init), objects.env);
  return { jobs, send };
}

test("An answer that one process has is read, repeated and stopped at another one, and is sent and paid once", async () => {
  let asked = 0;
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;
  const say = (text: string) => out?.enqueue(new TextEncoder().encode(text));
  const gateway = async () => {
    asked += 1;
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      out = controller;
    };
    return new Response(new ReadableStream({ start }), { headers: { "content-type": "text/event-stream" } });
  };
  const schema = newSchema();
  const [one, other] = [await openProcess(schema, gateway), await openProcess(schema, gateway)];
  const chat = (key: string) => ({
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] }),
  });
  const begun = await one.send("/v1/chat/completions", chat("first"));
  const id = begun.headers.get("x-stream-id");
  say(chunk("one"));
  await readerOf(begun).until("one");
  // read on elsewhere while it is written
  const followed = await other.send(`/v1/chat/streams/${id}`);
  const reader = readerOf(followed);
  await reader.until("one");
  say(chunk("two"));
  await reader.until("two");
  // the same thing asked again elsewhere joins it
  const again = await other.send("/v1/chat/completions", chat("first"));
  expect(again.headers.get("x-stream-id")).toBe(id);
  say(finish + done);
  out?.close();
  expect(await again.text()).toContain("[DONE]");
  expect(asked).toBe(1);
  // another answer is stopped from elsewhere
  const second = await one.send("/v1/chat/completions", chat("second"));
  const stopped = await other.send(`/v1/chat/streams/${second.headers.get("x-stream-id")}`, {
    method: "DELETE",
  });
  expect(stopped.status).toBe(204);
  expect(await second.text()).toContain("stream_stopped");
  await expect
    .poll(async () => ((await (await other.send("/v1/budget")).json()) as { budgets: unknown[] }).budgets[0])
    .toMatchObject({ reserved: 0 });
  await expect.poll(() => one.jobs.map(({ outcome }) => outcome)).toEqual(["complete", "stopped"]);
  expect(other.jobs).toEqual([]);
});
