import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHATS, chat, startAttacked, stream, VIDEOS } from "./support/attacked.js";
import { createPiece, json, reply, streamed } from "./support/raw-gateway.js";
import { signId } from "./support/sign.js";

const imageURL = "https://cdn.example/a.png";
const withImage = {
  model: "alpha-v4.1-flash",
  messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: imageURL } }] }],
};

test.each(["authenticate", "rateLimit", "budget", "media", "plugin"])(
  "an exception in %s is a 503, and its cause is in the log without the key (case 59)",
  async (throws) => {
    const proxy = await startAttacked({ plan: { throws } });
    const response = await proxy.call("ada", withImage);
    expect(response.status).toBe(503);
    expect(response.text).not.toContain("broken");
    expect(await proxy.loggedLine(/broken/)).toContain(`the ${throws} of this test is broken`);
    expect(proxy.upstream.requests).toEqual([]);
    await proxy.close();
  },
);

describe("at the gateway (case 59)", () => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked();
  });
  afterAll(() => proxy.close());

  test.each([
    ["a refused key", reply(json("{}").replace("200 Said", "401 Unauthorized")), 502, /401/],
    [
      "a page",
      reply(json("<h1>").replace("application/json", "text/html")),
      502,
      /text\/html|content-type|type/i,
    ],
    [
      "a redirect",
      reply("HTTP/1.1 302 Found\r\nLocation: https://a.example/\r\nContent-Length: 0\r\n\r\n"),
      502,
      /302|redirect/,
    ],
    ["broken JSON", reply(json('{"id":')), 502, /JSON/],
    ["a closed connection", reply(""), 502, /unreachable|connection|network|disconnected|fail/i],
  ] as const)("%s is named in the log", async (_, respond, status, like) => {
    const before = proxy.logs.length;
    proxy.upstream.respondWith(respond);
    expect((await proxy.call("ada", chat)).status).toBe(status);
    const isOwn = (line: string) => !line.startsWith("{") && like.test(line);
    await expect.poll(() => proxy.logs.slice(before).filter(isOwn)).not.toEqual([]);
  });
});

describe("the polls of a task (case 57)", () => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({ options: { routes: ["videos"] } });
  });
  afterAll(() => proxy.close());

  const task =
    '{"code":"success","message":"","data":{"task_id":"task_1","status":"IN_PROGRESS","progress":"5%"}}';
  const path = (user: string) => `${VIDEOS}/${signId("task_1", "task", user)}`;

  test("polls of another user get no response from this user's memory", async () => {
    proxy.upstream.respondWith(reply(json(task)));
    await proxy.call("ada", undefined, { path: path("ada") });
    expect((await proxy.call("bob", undefined, { path: path("ada") })).status).toBe(404);
    const { text } = await proxy.call("bob", undefined, { path: path("bob") });
    expect(text).toContain(signId("task_1", "task", "bob"));
    expect(text).not.toContain(signId("task_1", "task", "ada"));
  });
});

test("the event has a request's route, cost and outcome (case 59)", async () => {
  const proxy = await startAttacked({ plan: { budget: { user: 1_000_000 } } });
  proxy.upstream.respondWith(streamed(createPiece("one"), createPiece("two")));
  await proxy.call("ada", stream, { path: CHATS });
  const event = JSON.parse(await proxy.loggedLine(/^\{.*"route":"chat"/));
  expect(event).toMatchObject({
    userId: "ada",
    model: "delta-5.3",
    status: 200,
    code: "upstream_cut",
    outcome: "truncated",
    upstreamStatus: 200,
  });
  for (const name of ["firstByteMs", "durationMs", "bytes"]) expect(event[name]).toBeGreaterThanOrEqual(0);
  await proxy.close();
});
