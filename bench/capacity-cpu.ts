import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { bundleAttacked } from "../packages/worker-proxy/test/support/bundle.ts";
import { startWorkerd } from "../packages/worker-proxy/test/support/workerd-process.ts";

/* Measures the CPU of responses in workerd, of Worker and objects together, for the table of capacity.ts. */

const EVENTS = 300;
const EVENT_MS = 100;
const STREAMS = 50;
const SHORT = 1000;

const createEvent = (nth: number) => {
  const choice = {
    index: 0,
    delta: { content: `word ${nth} ` },
    finish_reason: nth === EVENTS ? "stop" : null,
  };
  return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
};

/** Returns the CPU of each kind of work, in milliseconds, under the names of the table. */
export async function readCPU(): Promise<ReadonlyMap<string, number>> {
  const gateway = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    if (!JSON.parse(text).stream)
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end('{"data":[{"url":"https://a.example/a"}],"usage":{"total_tokens":5}}');
    response.writeHead(200, { "content-type": "text/event-stream" });
    let nth = 0;
    const timer = setInterval(() => {
      nth += 1;
      response.write(createEvent(nth));
      if (nth < EVENTS) return;
      clearInterval(timer);
      response.end("data: [DONE]\n\n");
    }, EVENT_MS);
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  const upstream = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  try {
    const short = await measureCPU({}, upstream, SHORT, "alone");
    const budget = await measureCPU({ budget: { all: 1e12 } }, upstream, SHORT, "alone");
    return new Map([
      ["the proxy, a short response", short],
      ["the proxy, a response of 30 s", await measureCPU({}, upstream, STREAMS, "streams")],
      ["a budget", Math.max(0, budget - short)],
      ["a stored response", await measureCPU({ resumable: true }, upstream, STREAMS, "streams")],
      ["an idempotent request", await measureCPU({ idempotent: true }, upstream, SHORT, "creates")],
    ]);
  } finally {
    gateway.close();
  }
}

async function measureCPU(
  plan: object,
  upstream: string,
  times: number,
  kind: "alone" | "streams" | "creates",
): Promise<number> {
  const proxy = await startWorkerd({
    code: await bundleAttacked({
      plan,
      options: { models: ["delta-5.3", "gamma-image-5-0-260128"], routes: ["chat", "images"] },
    }),
    texts: { UPSTREAM: upstream, GATEWAY_API_KEY: "sk-capacity-0123456789" },
    objects: { SLUICE: "Sluice" },
  });
  const usedMs = () => {
    const stat = readFileSync(`/proc/${proxy.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(stat[11]) + Number(stat[12])) * 10;
  };
  const sendRequest = async (user: string) => {
    const isImage = kind === "creates";
    const chat = {
      model: "delta-5.3",
      messages: [{ role: "user", content: "hi" }],
      stream: kind === "streams",
    };
    const body = isImage ? { model: "gamma-image-5-0-260128", prompt: "a bird" } : chat;
    const response = await fetch(
      `http://127.0.0.1:${proxy.port}/v1/${isImage ? "images/generations" : "chat/completions"}`,
      {
        method: "POST",
        headers: {
          authorization: `Bearer ${user}`,
          "content-type": "application/json",
          ...(isImage && { "idempotency-key": crypto.randomUUID() }),
        },
        body: JSON.stringify(body),
      },
    );
    const text = await response.text();
    if (!response.ok) throw new Error(text);
  };
  /** Sends all streams at once, or short requests by 20 clients. */
  const runAll = (from: number, count: number) =>
    kind === "streams"
      ? Promise.all(Array.from({ length: count }, (_, nth) => sendRequest(`user-${from + nth}`)))
      : Promise.all(
          Array.from({ length: 20 }, async (_, worker) => {
            for (let left = count / 20; left > 0; left -= 1) await sendRequest(`user-${from + worker}`);
          }),
        );
  try {
    if (kind !== "streams") await runAll(0, times / 2);
    else await sendRequest("first");
    const before = usedMs();
    await runAll(100, times);
    return (usedMs() - before) / times;
  } finally {
    await proxy.close();
  }
}
