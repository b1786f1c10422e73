import { expect, onTestFinished, test } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { startDurableProxy } from "./support/workerd.js";

const events = { "content-type": "text/event-stream" };
const body = JSON.stringify({
  model: "delta-5.3",
  stream: true,
  messages: [{ role: "user", content: "hi" }],
});
/** Longer than the proxy waits for a usage behind a `finish_reason`. */
const PAUSE_MS = 4000;
const usage = `data: ${JSON.stringify({ choices: [], usage: { total_tokens: 7 } })}\n\n`;

test("case 158: an answer whose object gets no turn for seconds has the usage that came meanwhile", async () => {
  const objects = { STREAM_LOG: "StreamLog", ONCE: "Once", BUDGET: "Budget" };
  const { ask, upstream, logs, pause, resume, close } = await startDurableProxy({
    fixture: "durable/test/fixture/kept-proxy.ts",
    objects,
    // it gets no turn for seconds, and keeps its objects
    leaseMs: 600_000,
  });
  onTestFinished(close);
  let send = (_: string) => {};
  upstream.answers((response) => {
    response.writeHead(200, events).write(chunk("one") + finish);
    send = (text) => response.end(text);
  });
  const reader = readerOf(await ask("/v1/chat/completions", { method: "POST", body }));
  await reader.until("finish_reason");
  // the process itself is stopped: work that fills seconds here fills minutes of a machine that has much to do
  pause();
  send(usage + done);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  resume();
  expect(await reader.until("[DONE]")).toContain("[DONE]");
  const jobs = () =>
    logs.filter((line) => line.includes("job {")).map((line) => JSON.parse(line.slice(line.indexOf("{"))));
  await expect.poll(jobs).toMatchObject([{ outcome: "complete", usage: { total_tokens: 7 }, spent: 7 }]);
});
