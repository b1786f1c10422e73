import { expect, onTestFinished, test } from "vitest";
import { crashServer, startReplica } from "./support/postgres-replica.js";
import { startPostgres } from "./support/postgres-server.js";
import { openSharedProxy, type SharedProxy } from "./support/shared-proxies.js";
import { silenceLog } from "./support/stored-proxy.js";

const USERS = Array.from({ length: 5 }, (_, nth) => `user-${nth}`);
const USAGE = 7;
const event = (json: object) => new TextEncoder().encode(`data: ${JSON.stringify(json)}\n\n`);

/** A gateway that counts how often it received each prompt. It has one stream, which the test writes. */
function openGateway() {
  const sends = new Map<string, number>();
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        stream = controller;
      },
    });
  return {
    sends,
    write: (bytes: Uint8Array) => stream?.enqueue(bytes),
    end: () => stream?.close(),
    async fetch(request: Request): Promise<Response> {
      const { prompt } = (await request.json()) as { readonly prompt?: string };
      if (prompt === undefined)
        return new Response(body(), { headers: { "content-type": "text/event-stream" } });
      sends.set(prompt, (sends.get(prompt) ?? 0) + 1);
      return Response.json({ data: [{ b64_json: prompt }], usage: { total_tokens: USAGE } });
    },
  };
}

test("a replica takes over from a primary that crashed: nothing is sent twice, and each request is charged once (case 183)", async () => {
  silenceLog();
  const primary = await startPostgres();
  const replica = await startReplica(primary);
  const gateway = openGateway();
  const opened: SharedProxy[] = [];
  for (let nth = 0; nth < 2; nth += 1)
    opened.push(await openSharedProxy({ server: primary, schema: "failover", fetch: gateway.fetch }));
  const [first, second] = opened as [SharedProxy, SharedProxy];
  onTestFinished(async () => {
    for (const { close } of opened) await close();
    await replica.close();
    await primary.close();
  });

  const response = await first.chat("reader", "hi", { stream: true });
  gateway.write(event({ choices: [{ index: 0, delta: { content: "before" } }] }));
  let isOver = false;
  const bodies = new Map<string, string>();
  // each user sends one request after the other, and repeats a request at the other process until it has a response
  const load = USERS.map(async (user) => {
    for (let nth = 0; !isOver; nth += 1) {
      const prompt = `${user}/${nth}`;
      for (let attempt = nth; !bodies.has(prompt); attempt += 1) {
        const sent = await (attempt % 2 ? first : second).image(user, prompt, prompt);
        const text = await sent.text();
        if (sent.ok) bodies.set(prompt, text);
        else expect([sent.status, text]).toEqual([503, expect.any(String)]);
      }
    }
  });
  await expect.poll(() => bodies.size).toBeGreaterThan(25);

  await crashServer(primary);
  for (const { network } of opened) network.forwardTo(replica.port);
  await expect.poll(() => replica.hasRefused).toBe(true);
  await replica.promote();
  const { size } = bodies;
  await expect.poll(() => bodies.size).toBeGreaterThan(size + 25);
  isOver = true;
  await Promise.all(load);

  gateway.write(event({ choices: [{ index: 0, delta: { content: "after" }, finish_reason: "stop" }] }));
  gateway.write(event({ choices: [], usage: { total_tokens: USAGE } }));
  gateway.write(new TextEncoder().encode("data: [DONE]\n\n"));
  gateway.end();
  expect(await response.text()).toMatch(/before[\s\S]*after[\s\S]*\[DONE\]/);
  for (const [prompt, times] of gateway.sends) expect([prompt, times]).toEqual([prompt, 1]);
  for (const [prompt, text] of bodies)
    expect(await (await first.image(prompt.split("/")[0] ?? "", prompt, prompt)).text()).toBe(text);
  for (const user of USERS) {
    const sent = [...gateway.sends.keys()].filter((prompt) => prompt.startsWith(`${user}/`)).length;
    await expect.poll(() => second.readBudget(user)).toMatchObject({ spent: USAGE * sent, reserved: 0 });
  }
  await expect.poll(() => second.readBudget("reader")).toMatchObject({ spent: USAGE, reserved: 0 });
});
