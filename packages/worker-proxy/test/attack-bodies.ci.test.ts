import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHATS, chat, IMAGES, startAttacked, stream, VIDEOS } from "./support/attacked.js";
import { createTextReader } from "./support/event-stream.js";
import {
  createPiece,
  createResponse,
  done,
  json,
  reply,
  stopped,
  streamHead,
} from "./support/raw-gateway.js";

const MB = 1024 * 1024;
const filled = (piece: string, size: number) =>
  Array(Math.floor(size / (piece.length + 1)))
    .fill(piece)
    .join(",");
const createKeys = (size: number) => {
  let text = "";
  for (let nth = 0; text.length < size; nth += 1) text += `"k${nth}":0,`;
  return `{${text.slice(0, -1)}}`;
};
const nested = '{"a":[[{"b":{}}]]}';
/** Values that a signed-in user can write into each place where a request of a chat is free in its shape. */
const fields: readonly [string, (value: string) => string][] = [
  ["messages", (value) => `{"model":"delta-5.3","messages":[${value}]}`],
  [
    "the schema of a tool",
    (value) =>
      `{"model":"alpha-v4.1-flash","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"enum":[${value}]}}}]}`,
  ],
  ["a field that is not listed", (value) => `{"model":"delta-5.3","metadata":[${value}],"messages":[]}`],
];
const values: readonly [string, () => string][] = [
  ["zeros", () => filled("0", 8 * MB - 1000)],
  ["empty objects", () => filled("{}", 8 * MB - 1000)],
  ["small trees", () => filled(nested, 8 * MB - 1000)],
  ["distinct keys", () => createKeys(8 * MB - 1000)],
];

describe("in an isolate with 128 MB, while another user's stream runs (case 48)", () => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({ heapMB: 128, options: { limits: { maxBodyBytes: 8 * MB } } });
  });
  afterAll(() => proxy.close());

  const bodies = fields.flatMap(([field, written]) =>
    values.map(([name, value]) => ({ name, field, written, value })),
  );
  for (const { name, field, written, value } of bodies)
    test(`8 MB of ${name} in ${field} end neither the process nor the stream`, () =>
      expectUnharmed(written(value())));

  async function expectUnharmed(body: string): Promise<void> {
    let goOn = (_text: string) => {};
    proxy.upstream.respondWith((socket, request) => {
      if (request.body.stream !== true) return reply(json('{"id":"1"}'))(socket, request);
      socket.write(streamHead + createPiece("one"));
      goOn = (text) => socket.end(text);
    });
    const victim = createTextReader(await proxy.send("victim", stream));
    await victim.until("one");

    const attack = proxy.call("attacker", body, { path: CHATS });
    const { status } = await attack;
    expect([200, 400, 413]).toContain(status);
    goOn(createPiece("two") + stopped() + done);
    expect(await victim.until("never")).toMatch(/two.*\[DONE\]\n\n$/s);
    expect(proxy.isAlive()).toBe(true);
    expect((await proxy.call("victim", chat)).status).toBe(200);
  }

  test("several such bodies at the same time end neither the process nor the stream", async () => {
    proxy.upstream.respondWith(reply(json('{"id":"1"}')));
    const body = fields[0]?.[1](filled("0", 8 * MB - 1000)) ?? "";
    const attacks = Array.from({ length: 4 }, (_, nth) => proxy.call(`attacker-${nth}`, body));
    for (const { status } of await Promise.all(attacks)) expect([200, 400, 413, 503]).toContain(status);
    expect(proxy.isAlive()).toBe(true);
    expect((await proxy.call("victim", chat)).status).toBe(200);
  });
});

describe("responses of the gateway, while another user's stream runs in 128 MB (case 99)", () => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({ heapMB: 128, plan: { budget: { user: 1e9 } } });
  });
  afterAll(() => proxy.close());

  test.each([
    ["a chat of 16 MB of empty objects", 16, (objects: string) => json(`{"choices":[${objects}]}`), 502],
    ["a chat of 31 MB of empty objects", 31, (objects: string) => json(`{"choices":[${objects}]}`), 502],
    [
      "16 MB of lists behind a response",
      16,
      (objects: string) => json(`{"choices":[],"more":[${objects}]}`),
      502,
    ],
    [
      "a refusal of 16 MB",
      16,
      (objects: string) => createResponse(400, "application/json", `{"error":[${objects}]}`),
      400,
    ],
    [
      "an event of 7 MB of empty objects",
      7,
      (objects: string) => `${streamHead}data: {"choices":[${objects}]}\n\n${done}`,
      200,
    ],
  ] as const)("%s neither end the process nor the stream", async (_, size, respond, status) => {
    let goOn = (_text: string) => {};
    proxy.upstream.respondWith((socket, request) => {
      if (request.body.max_tokens === 7) return reply(respond(filled("{}", size * MB)))(socket, request);
      socket.write(streamHead + createPiece("one"));
      goOn = (text) => socket.end(text);
    });
    const victim = createTextReader(await proxy.send("victim", stream));
    await victim.until("one");
    const body = { ...chat, max_tokens: 7, stream: status === 200 };
    const attack = await proxy.call("attacker", body, { path: CHATS });
    expect(attack.status).toBe(status);
    if (status === 200) expect(attack.text).toContain('"code":"upstream_type"');
    goOn(createPiece("two") + stopped() + done);
    expect(await victim.until("never")).toMatch(/two.*\[DONE\]\n\n$/s);
    expect(proxy.isAlive()).toBe(true);
  });
});

describe("every other response of the gateway, while another user's stream runs in 128 MB (case 140)", () => {
  const lookup = "/gamma/asset/GetAsset";
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    const models = {
      "delta-5.3": {},
      "beta3.0-video": {},
      "gamma-image-5-0-260128": {},
      "gamma-asset": { GroupId: ["g"] },
    };
    const routes = ["chat", "images", "videos", "assets"];
    proxy = await startAttacked({
      heapMB: 128,
      plan: { idempotent: true },
      options: { models, routes, gateway: { assetLookup: lookup } },
    });
  });
  afterAll(() => proxy.close());

  const video = { model: "beta3.0-video", input: { prompt: "a" } };
  const image = { model: "gamma-image-5-0-260128", prompt: "a" };
  const asset = {
    model: "gamma-asset",
    GroupId: "g",
    URL: "https://files.example/a.png",
    AssetType: "Image",
  };
  const empty = (size: number) => `{"data":[${filled("{}", size)}]}`;
  let tests = 0;

  /** Opens a stream of another user; returns what checks that it has gone on to its end. */
  async function createVictim(attack: (line: string) => string) {
    let goOn = (_text: string) => {};
    proxy.upstream.respondWith((socket, request) => {
      if (request.body?.stream !== true) return reply(attack(request.line))(socket, request);
      socket.write(streamHead + createPiece("one"));
      goOn = (text) => socket.end(text);
    });
    const victim = createTextReader(await proxy.send("victim", stream));
    await victim.until("one");
    return async () => {
      goOn(createPiece("two") + stopped() + done);
      expect(await victim.until("never")).toMatch(/two.*\[DONE\]\n\n$/s);
      expect(proxy.isAlive()).toBe(true);
    };
  }

  test.each([
    ["the poll of a video", VIDEOS, video, (id: string) => ({ path: `${VIDEOS}/${id}` })],
    [
      "the lookup of an asset",
      "/gamma/asset/CreateAsset",
      asset,
      (id: string) => ({ path: lookup, body: { Id: id } }),
    ],
  ])("16 MB of empty objects for %s end neither the process nor the stream", async (_, path, body, next) => {
    let isLarge = false;
    const goesOn = await createVictim(() => json(isLarge ? empty(16 * MB) : '{"id":"task-1","Id":"task-1"}'));
    const created = JSON.parse((await proxy.call("attacker", body, { path })).text) as { id: string };
    isLarge = true;
    const { path: then, body: sent } = { body: undefined, ...next(created.id) };
    const response = await proxy.call("attacker", sent, { path: then });
    expect([response.status, response.error?.["code"]]).toEqual([502, "upstream_type"]);
    await goesOn();
  });

  test.each([
    ["an image", IMAGES, image],
    ["a video", VIDEOS, video],
  ])(
    "16 MB of empty objects for a stored %s end neither the process nor the stream",
    async (_, path, body) => {
      const goesOn = await createVictim(() => json(empty(16 * MB)));
      const headers = { "idempotency-key": `large-${++tests}` };
      for (let nth = 0; nth < 2; nth += 1) {
        const response = await proxy.call("attacker", body, { path, headers });
        expect([response.status, response.error?.["code"]]).toEqual([502, "upstream_type"]);
      }
      await goesOn();
    },
  );

  test("four responses at once with the maximum number of values end neither the process nor the stream", async () => {
    const goesOn = await createVictim(() => json(`{"choices":[${filled("{}", 1_499_000)}]}`));
    const attacks = Array.from({ length: 4 }, (_, nth) => proxy.call(`attacker-${nth}`, chat));
    for (const { status } of await Promise.all(attacks)) expect([200, 502]).toContain(status);
    await goesOn();
  });
});
