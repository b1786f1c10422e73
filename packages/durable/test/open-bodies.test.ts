import { resumableStreams } from "@sluice/durable";
import { expect, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import { done, finish, openGateway, openStoredProxy, piece, readCode } from "./support/stored-proxy.js";

const KB = 1024;
const limits = { maxBodyBytes: 200 * KB, maxOpenBodyBytes: 300 * KB };
const createBody = (kB: number) => ({
  body: { ...chat, stream: true, messages: [{ role: "user", content: "a".repeat(kB * KB) }] },
});

test("the body of a stored stream counts until the stream ends, even if its client has left", async () => {
  const gateway = openGateway();
  const live = gateway.streamsLive();
  const { startStream } = openStoredProxy({ gateway, limits, plugins: [resumableStreams()] });
  const client = new AbortController();
  const response = await startStream({ ...createBody(120), signal: client.signal });
  live.send(piece("a"));
  await createTextReader(response).until('"a"');
  client.abort();
  const refused = await startStream(createBody(120));
  expect([refused.status, await readCode(refused)]).toEqual([429, "too_many_bytes"]);

  live.send(finish + done);
  live.end();
  gateway.streams(piece("b") + finish + done);
  await expect.poll(async () => (await startStream(createBody(120))).status).toBe(200);
});
