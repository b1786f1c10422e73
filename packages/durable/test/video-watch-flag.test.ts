import { expect, onTestFinished, test } from "vitest";
import { startDurableProxy } from "./support/workerd.js";

test("Nothing is pushed where closed tabs could not be noticed", async () => {
  const proxy = await startDurableProxy({ flags: [] });
  onTestFinished(() => proxy.close());
  proxy.upstream.answers((response) => {
    const json = { code: "success", message: "", data: { id: "t-3", task_id: "t-3", status: "QUEUED" } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json));
  });
  const body = JSON.stringify({ model: "beta3.0-video", input: { prompt: "a bird" } });
  const receipt = await proxy.ask("/v1/video/generations", { method: "POST", body });
  const { data } = (await receipt.json()) as { data: { id: string } };
  const refused = await proxy.ask(`/v1/video/generations/${data.id}/events`);
  expect(refused.status).toBe(500);
  expect(await refused.text()).not.toContain("enable_request_signal");
  expect(proxy.upstream.requests).toHaveLength(1);
});
