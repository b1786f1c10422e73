import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import { expectNoKey } from "../../packages/worker-proxy/test/support/key.ts";
import { chat, chats, createVideo, runTemplate, signIn, video, videos } from "../support/template-suite.ts";

/** Cloudflare's response for a gateway that refuses connections. */
const down = createServer((_, response) => response.writeHead(521).end()).listen(0, "127.0.0.1");
await once(down, "listening");
afterAll(() => void down.close());

describe("the template with Durable Objects", () => {
  const deployed = runTemplate("wrangler.durable.jsonc", (settings) => ({
    "without a gateway": {
      given: { ...settings, GATEWAY_URL: `http://127.0.0.1:${(down.address() as AddressInfo).port}` },
    },
    "for visitors": { given: settings },
  }));

  test("gives each user a budget for the day", async () => {
    const [spender, other] = [await signIn("spender"), await signIn("other")];
    let created = 0;
    let response = await deployed.worker.request(spender, videos, video);
    for (; response.status === 200 && created <= 10; created += 1)
      response = await deployed.worker.request(spender, videos, video);
    expect([response.status, response.error?.["code"]]).toEqual([429, "budget_exhausted"]);
    // more if midnight passes during the test
    expect(created).toBeGreaterThanOrEqual(5);
    expect((await deployed.worker.request(spender, chats, chat)).status).toBe(429);
    expect((await deployed.worker.request(other, chats, chat)).status).toBe(200);
  });

  test("counts the cost that a chat had, not its largest possible cost", async () => {
    const talker = await signIn("talker");
    // each could cost 8192 of the day's 500,000
    for (let requestCount = 0; requestCount < 25; requestCount += 1)
      expect((await deployed.worker.request(talker, chats, chat)).status).toBe(200);
    for (let requestCount = 0; requestCount < 4; requestCount += 1)
      await createVideo(deployed.worker, talker);
  });

  test("leaves every budget whole while the gateway is down (case 49)", async () => {
    const ada = await signIn("ada-49");
    const { request } = deployed.other("without a gateway");
    for (let nth = 0; nth < 8; nth += 1) {
      expect((await request(ada, videos, video)).status).toBe(502);
      expect((await request(ada, chats, chat)).status).toBe(502);
    }
    const { text } = await request(ada, "/v1/budget");
    expect(JSON.parse(text).budgets).toEqual([
      expect.objectContaining({ by: "user", spent: 0, reserved: 0 }),
    ]);
  });

  test("limits visitors who get a new user id for each request (case 56)", async () => {
    const { request } = deployed.other("for visitors");
    const from = { "cf-connecting-ip": "203.0.113.9" };
    const statuses: number[] = [];
    // the period of the limit may end during the test: then twice as many requests pass
    for (let nth = 0; statuses.at(-1) !== 429 && nth < 44; nth += 1)
      statuses.push((await request(await signIn(`anon-${nth}`), videos, video, from)).status);
    expect(statuses.at(-1)).toBe(429);
  });

  test("shows users their remaining budget", async () => {
    const { status, text } = await deployed.worker.request(await signIn("reader"), "/v1/budget");
    expect(status).toBe(200);
    expect(JSON.parse(text).budgets).toEqual([
      expect.objectContaining({ by: "user", limit: 500_000, remaining: 500_000 }),
    ]);
    expect((await deployed.worker.request(undefined, "/v1/budget")).status).toBe(401);
  });

  test("pushes the changes of a video", async () => {
    const ada = await signIn("ada");
    const id = await createVideo(deployed.worker, ada);
    const headers = { authorization: `Bearer ${ada}` };
    const response = await fetch(`${deployed.worker.address}${videos}/${id}/events`, { headers });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      text += part.value;
      if (/^data: .*\n\n/m.test(text)) break;
    }
    await reader?.cancel();
    expectNoKey(text);
    expect(text).toContain("event: task\n");
    expect(text).toContain(id);
    expect((await deployed.worker.request(await signIn("bob"), `${videos}/${id}/events`)).status).toBe(404);
  });
});
