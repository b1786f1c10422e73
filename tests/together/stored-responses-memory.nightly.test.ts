import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { expect, onTestFinished, test } from "vitest";
import { bundle } from "../../packages/worker-proxy/test/support/bundle.ts";
import { startWorkerd } from "../../packages/worker-proxy/test/support/workerd-process.ts";

const KEY = "sk-stored-responses";
const KB = 1024;

test("a response that was stopped leaves nothing in the memory of the Worker", async () => {
  const gateway = await serve(createEmulator({ apiKeys: [KEY], speed: Number.POSITIVE_INFINITY }), {
    port: 0,
  });
  const worker = await startWorkerd({
    code: await bundle("../tests/soak/worker.ts"),
    texts: { UPSTREAM: gateway.url, GATEWAY_API_KEY: KEY },
    objects: { SLUICE: "Sluice" },
    isInspected: true,
  });
  onTestFinished(async () => {
    await worker.close();
    await gateway.close();
  });
  const address = `http://127.0.0.1:${worker.port}/v1/chat`;
  const headers = { authorization: "Bearer user", "content-type": "application/json" };
  const messages = [{ role: "user", content: "[[stall]] Tell me a long story" }];
  const body = JSON.stringify({ model: "delta-5.3", stream: true, messages });

  /** Sends a question, reads the first words, and stops the response. */
  async function stopOne(): Promise<void> {
    const response = await fetch(`${address}/completions`, { method: "POST", headers, body });
    const reader = response.body?.getReader();
    await reader?.read();
    const path = `${address}/streams/${response.headers.get("x-stream-id")}`;
    expect((await fetch(path, { method: "DELETE", headers })).status).toBe(204);
    while (reader && !(await reader.read()).done);
  }
  async function stopMany(count: number): Promise<void> {
    for (let nth = 0; nth < count; nth += 10) await Promise.all(Array.from({ length: 10 }, stopOne));
  }

  await stopMany(50);
  const before = await worker.usedHeap();
  await stopMany(200);
  // an object stays in memory for seconds after its last event. Before a fix, each stopped response kept 10 kB forever
  await expect
    .poll(async () => (await worker.usedHeap()) - before, { timeout: 150_000, interval: 1000 })
    .toBeLessThan(600 * KB);
}, 300_000);
