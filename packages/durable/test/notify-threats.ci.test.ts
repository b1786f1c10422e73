import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startNotifyingProxy, WEBHOOK_SECRET } from "./support/notify.js";

let proxy: Awaited<ReturnType<typeof startNotifyingProxy>>;

beforeAll(async () => {
  proxy = await startNotifyingProxy({ speed: 20 });
});
afterAll(() => proxy.close());

test("case 83: a webhook that the app refuses with a secret in its answer: no log has a secret", async () => {
  const { app } = proxy;
  app.answers((response) => void response.writeHead(500).end(WEBHOOK_SECRET));
  proxy.taskIs("SUCCESS");
  await proxy.create("dan");
  await expect.poll(() => proxy.logs.join("\n"), { timeout: 20_000 }).toContain("the app answered with 500");
  expect(proxy.logs.join("\n")).not.toContain(WEBHOOK_SECRET);
});

test("case 82: a webhook that is sent again later, or with another id or body, is refused by its signature", () => {
  const { app } = proxy;
  const { body, rawHeaders } = app.requests[0] ?? { body: "", rawHeaders: [] };
  const headers = Object.fromEntries(
    rawHeaders.flatMap((name, at) => (at % 2 ? [] : [[name.toLowerCase(), rawHeaders[at + 1] ?? ""]])),
  );
  const verifier = new Webhook(WEBHOOK_SECRET);
  expect(verifier.verify(body, headers)).toBeDefined();
  const old = String(Number(headers["webhook-timestamp"]) - 600);
  for (const change of [{ "webhook-timestamp": old }, { "webhook-id": "msg_other" }])
    expect(() => verifier.verify(body, { ...headers, ...change })).toThrow();
  expect(() => verifier.verify(body.replace("succeeded", "failed"), headers)).toThrow();
  expect(() => new Webhook(`whsec_${btoa("another secret of 24 bytes")}`).verify(body, headers)).toThrow();
});
