import { afterAll, expect, onTestFinished, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { chunk } from "../../worker-proxy/test/support/upstream.js";
import { RESERVED } from "./fixture/shared-plugins.js";
import { stopPostgres } from "./support/hosts.js";
import { type RuntimeProxy, runtimes, startProxy } from "./support/runtime-proxies.js";

const STREAMS = 100;
/** Time until timers have settled the lost streams, and the time between two checks of a test, in milliseconds. */
const PATIENCE = { timeout: 80_000, interval: 1_000 };

afterAll(stopPostgres);

const chats = "/v1/chat/completions";
const images = "/v1/images/generations";
const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
const image = { model: "gamma-image-5-0-260128", prompt: "a bird" };
const once = { key: "once" };

async function readBudget({ send }: RuntimeProxy, user: string): Promise<string> {
  const { budgets } = (await (await send(user, "/v1/budget")).json()) as {
    budgets: [{ spent: number; reserved: number }];
  };
  return `${budgets[0].spent} spent, ${budgets[0].reserved} reserved`;
}

/** Expects a lost stream to be interrupted: when it is read by its id, and when its request is repeated. */
async function expectLost({ send }: RuntimeProxy, user: string, path: string): Promise<void> {
  const both = await Promise.all([send(user, path), send(user, chats, { body: chat, ...once })]);
  for (const response of both) expect(await response.text()).toContain('"code":"stream_interrupted"');
}

test.each(runtimes)(
  "%s is killed with 100 open responses: each ends as interrupted, is settled once, read or not, and is not sent again (cases 115, 188)",
  async (runtime) => {
    const proxy = await startProxy(runtime);
    onTestFinished(proxy.close);
    const { send, upstream, logs } = proxy;
    upstream.respondWith((response, { url }) => {
      if (url.includes("/images/")) return;
      response.writeHead(200, { "content-type": "text/event-stream" }).write(chunk("one"));
    });
    const users = Array.from({ length: STREAMS }, (_, nth) => `user-${nth}`);
    const open = await Promise.all(
      users.map(async (user) => {
        const response = await send(user, chats, { body: chat, ...once });
        await createTextReader(response).until("one");
        return { user, id: response.headers.get("x-stream-id") ?? "" };
      }),
    );
    const waiting = send("painter", images, { body: image, ...once }).catch(() => undefined);
    await expect.poll(() => upstream.requests.length).toBe(STREAMS + 1);

    await proxy.restart();
    await waiting;
    const requests = open.slice(0, STREAMS / 2);
    await Promise.all(requests.map(({ user, id }) => expectLost(proxy, user, `/v1/chat/streams/${id}`)));
    const repeated = await send("painter", images, { body: image, ...once });
    expect([repeated.status, await repeated.text()]).toEqual([502, expect.stringContaining("request_lost")]);

    // the other streams end by their timers: no client reads them
    const spent = async () =>
      new Set(await Promise.all([...users, "painter"].map((user) => readBudget(proxy, user))));
    await expect.poll(spent, PATIENCE).toEqual(new Set([`${RESERVED} spent, 0 reserved`]));
    const lost = logs.filter((line) => line.includes('"outcome":"lost"')).map((line) => JSON.parse(line));
    expect(lost).toHaveLength(STREAMS + 1);
    const streams = lost.filter(({ job }) => job === "chat");
    expect(streams.map(({ id }) => id).sort()).toEqual(open.map(({ id }) => id).sort());
    for (const event of streams)
      expect(event).toMatchObject({ code: "stream_interrupted", reserved: RESERVED, spent: RESERVED });
    expect(upstream.requests).toHaveLength(STREAMS + 1);
  },
);
