import { expect, onTestFinished, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { startProxy } from "./support/runtime-proxies.js";

const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
/** Longer than the proxy waits for the usage after a `finish_reason`. */
const PAUSE_MS = 4000;
const usage = `data: ${JSON.stringify({ choices: [], usage: { total_tokens: 7 } })}\n\n`;

test.each(["workerd", "Node"] as const)(
  "a response of %s that gets no turn for seconds has the usage that came meanwhile (case 158)",
  async (runtime) => {
    const { send, upstream, logs, pause, resume, close } = await startProxy(runtime);
    onTestFinished(close);
    let write = (_: string) => {};
    upstream.respondWith((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(chunk("one") + finish);
      write = (text) => response.end(text);
    });
    const reader = createTextReader(await send("ann", "/v1/chat/completions", { body: chat }));
    await reader.until("finish_reason");
    // the process itself is stopped: work that fills seconds here fills minutes of a machine that has much to do
    pause();
    write(usage + done);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    resume();
    expect(await reader.until("[DONE]")).toContain("[DONE]");
    const jobs = () =>
      logs.filter((line) => line.startsWith('{"type":"job","job":"chat"')).map((line) => JSON.parse(line));
    await expect.poll(jobs).toMatchObject([{ outcome: "complete", usage: { total_tokens: 7 }, spent: 7 }]);
  },
);
