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
const usage = `data: ${JSON.stringify({ choices: [], usage: { total_tokens: 7 } })}\n\n`;

test("case 158: an answer whose object gets no turn for seconds has the usage that came meanwhile", async () => {
  const objects = { STREAM_LOG: "StreamLog", ONCE: "Once", BUDGET: "Budget" };
  const { ask, upstream, logs, close } = await startDurableProxy({
    fixture: "durable/test/fixture/busy-proxy.ts",
    objects,
    // it gets no turn for seconds, and keeps its objects
    leaseMs: 600_000,
  });
  onTestFinished(close);
  let send = (_: string) => {};
  upstream.answers((response, { url }) => {
    if (url !== "/busy") {
      response.writeHead(200, events).write(chunk("one") + finish);
      send = (text) => response.end(text);
      return;
    }
    response.end("now");
    setTimeout(send, 300, usage + done);
  });
  const answer = await ask("/v1/chat/completions", { method: "POST", body });
  const reader = readerOf(answer);
  await reader.until("finish_reason");
  await (await ask("/busy")).text();
  expect(await reader.until("[DONE]")).toContain("[DONE]");
  const jobs = () =>
    logs.filter((line) => line.includes("job {")).map((line) => JSON.parse(line.slice(line.indexOf("{"))));
  await expect.poll(jobs).toMatchObject([{ outcome: "complete", usage: { total_tokens: 7 }, spent: 7 }]);
});
