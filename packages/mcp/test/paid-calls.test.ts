import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStorage } from "@sluice/stores/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { CHAT, connected, IMAGE, question, textOf, VIDEO } from "./support/connect.js";

const reef = { prompt: "A reef" };
const key = "k-0123456789";

describe("A call that is repeated with its idempotency_key", () => {
  test("gets the first result, and pays once", async () => {
    const { call, bills } = await connected();
    const first = await call(IMAGE, { ...reef, idempotency_key: key });
    expect(await call(IMAGE, { idempotency_key: key, ...reef })).toEqual(first);
    expect(bills()).toBe(1);
  });

  test("joins the first one while it is in flight", async () => {
    const { call, bills } = await connected();
    const both = [0, 1].map(() => call(IMAGE, { ...reef, idempotency_key: key }));
    const [one, other] = await Promise.all(both);
    expect(other).toEqual(one);
    expect(bills()).toBe(1);
  });

  test("is refused for other arguments", async () => {
    const { call, bills } = await connected();
    await call(IMAGE, { ...reef, idempotency_key: key });
    const other = await call(IMAGE, { prompt: "A lake", idempotency_key: key });
    expect(textOf(other)).toMatch(/^Nothing was sent: this idempotency_key belongs to another call/);
    expect(bills()).toBe(1);
  });

  test("is sent again after a refusal, which costs nothing", async () => {
    const { call, bills } = await connected();
    const busy = { prompt: "A reef [[429:1]]", idempotency_key: key };
    expect((await call(IMAGE, busy)).isError).toBe(true);
    expect((await call(IMAGE, busy)).isError).toBeUndefined();
    expect(bills()).toBe(2);
  });
});

describe("A call that may be billed", () => {
  const lost = { prompt: "A reef [[drop]]" };

  test("is not sent again straight to the gateway, with or without its key", async () => {
    const { call, bills } = await connected({ client: { idempotencyKeys: false } });
    expect((await call(IMAGE, { ...lost, idempotency_key: key })).isError).toBe(true);
    for (const again of [lost, { ...lost, idempotency_key: key }, lost])
      expect(textOf(await call(IMAGE, again))).toMatch(
        /^Nothing was sent: an earlier call with the same arguments/,
      );
    expect(bills()).toBe(1);
  });

  test("is not sent again through a proxy that does not know keys", async () => {
    const { call, bills, emulator } = await connected();
    await call(IMAGE, lost);
    expect(textOf(await call(IMAGE, lost))).toMatch(/^Nothing was sent: an earlier call/);
    expect(bills()).toBe(1);
    expect(emulator.requests.map(({ path }) => path)).toContain("/health");
  });

  test("is paid for again where the user wants it, by a new key", async () => {
    const { call, bills } = await connected();
    await call(IMAGE, lost);
    await call(IMAGE, { ...lost, idempotency_key: "k-new-and-random" });
    expect(bills()).toBe(2);
  });

  test("is one that was cancelled, too: hosts cancel what takes long, and try again", async () => {
    const { call, bills, emulator } = await connected();
    const caller = new AbortController();
    const slow = { prompt: "A reef [[stall]]" };
    const calling = call(IMAGE, slow, { signal: caller.signal });
    await expect.poll(() => emulator.requests.length).toBe(1);
    caller.abort();
    await expect(calling).rejects.toThrow();
    expect(textOf(await call(IMAGE, slow))).toMatch(/^Nothing was sent: an earlier call/);
    expect(bills()).toBe(1);
  });

  test("does not hold up the same call where the first one has ended well", async () => {
    const { call, bills } = await connected();
    await call(IMAGE, reef);
    await call(IMAGE, reef);
    expect(bills()).toBe(2);
  });
});

describe("An idempotency_key", () => {
  const asset = { GroupId: "g", Name: "n", AssetType: "Image", URL: "https://files.example/1.png" };
  const tools = { [IMAGE]: reef, [CHAT]: question, [VIDEO]: { input: reef }, asset_create: asset };
  const wrong = [
    7,
    20261128,
    true,
    null,
    { a: 1 },
    ["k-0123456789"],
    "",
    "abc",
    "k-012 345 678",
    "k-é123456789",
  ];

  test.each(Object.entries(tools))(
    "of a wrong type or form is refused, and %s sends nothing",
    async (tool, input) => {
      const { call, emulator } = await connected();
      for (const idempotency_key of [...wrong, "k".repeat(256)]) {
        const answer = await call(tool, { ...input, idempotency_key });
        expect(answer.isError).toBe(true);
        expect(textOf(answer)).toMatch(
          /^Nothing was sent: idempotency_key must be a text of 8 to 255 ASCII letters, .*got /,
        );
        expect(textOf(answer)).toContain(`got ${JSON.stringify(idempotency_key)}`);
      }
      expect(emulator.requests).toEqual([]);
    },
  );
});

describe("The ledger in the folder", () => {
  const opened = async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-ledger-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const file = (folder: string) => join(folder, "sluice-calls.jsonl");

  test("gives another session the result of a call with its key, and nothing is paid again", async () => {
    const folder = await opened();
    const one = await connected({ server: { folder } });
    const first = await one.call(IMAGE, { ...reef, idempotency_key: key });
    const two = await connected({ server: { folder } });
    expect(await two.call(IMAGE, { ...reef, idempotency_key: key })).toEqual(first);
    expect(two.emulator.requests).toEqual([]);
  });

  test("lets two sessions with one key at once pay once", async () => {
    const folder = await opened();
    const clock = { now: () => Date.now(), sleep: async () => {} };
    const one = await connected({ server: { folder }, client: { timeout: LONG } });
    const two = await connected({ server: { folder }, client: { clock, timeout: LONG } });
    const both = await Promise.all(
      [one, two].map(({ call }) => call(IMAGE, { ...reef, idempotency_key: key })),
    );
    expect(both[1]).toEqual(both[0]);
    expect(one.bills() + two.bills()).toBe(1);
  });

  test("has the call before it is sent, so that a lost one is not sent again after a restart", async () => {
    const folder = await opened();
    let written = "";
    const one = await connected({
      server: { folder },
      client: {
        idempotencyKeys: false,
        async fetch(request) {
          written = await readFile(file(folder), "utf8");
          throw new TypeError(`fetch failed for ${request.url}`);
        },
      },
    });
    await one.call(IMAGE, { ...reef, idempotency_key: key });
    expect(written).toContain(key);
    for (const again of [{ ...reef, idempotency_key: key }, reef]) {
      const two = await connected({ server: { folder }, client: { idempotencyKeys: false } });
      expect(textOf(await two.call(IMAGE, again))).toMatch(/^Nothing was sent: an earlier call/);
      expect(two.bills()).toBe(0);
    }
  });

  test("keeps a lost call also where its repetition through a proxy is refused", async () => {
    const folder = await opened();
    let requests = 0;
    const answers = [() => Promise.reject(new TypeError("fetch failed")), busy, busy];
    const { call } = await connected({
      server: { folder },
      client: {
        async fetch(request) {
          if (request.method !== "POST") return new Response("", { headers: { "x-sluice-offers": "once" } });
          keys.push(request.headers.get("idempotency-key"));
          return (await answers[requests++]?.()) as Response;
        },
      },
    });
    const keys: (string | null)[] = [];
    for (const _ of answers) expect((await call(IMAGE, reef)).isError).toBe(true);
    expect(keys).toEqual([expect.any(String), keys[0], keys[0]]);
  });

  test("does not send a lost call again once the proxy may have forgotten its key", async () => {
    const folder = await opened();
    const offers = { headers: { "x-sluice-offers": "once, chat-once" } };
    let bills = 0;
    const losing = async (request: Request) => {
      if (request.method !== "POST") return new Response("", offers);
      bills += 1;
      throw new TypeError("fetch failed");
    };
    const world = { server: { folder }, client: { fetch: losing } };
    await (await connected(world)).call(IMAGE, { ...reef, idempotency_key: key });
    const records = await fileStorage(file(folder)).read("calls");
    const [[, record] = []] = records;
    const old = { ...(record as object), sentAt: Date.now() - 24 * 3_600_000 };
    await fileStorage(file(folder)).write("calls", new Map([[key, old]]));
    const { call } = await connected(world);
    expect(textOf(await call(IMAGE, { ...reef, idempotency_key: key }))).toMatch(
      /^Nothing was sent: an earlier/,
    );
    expect(bills).toBe(1);
  });

  test("that is damaged is never taken for an empty one", async () => {
    const folder = await opened();
    await fileStorage(file(folder)).write("calls", new Map([[key, { request: 7 }]]));
    const { call, bills } = await connected({ server: { folder } });
    expect(textOf(await call(IMAGE, { ...reef, idempotency_key: key }))).toMatch(/^Nothing was sent/);
    expect(bills()).toBe(0);
  });

  test.each([
    ["text in UTF-16", Buffer.from('{"calls":{}}\n', "utf16le")],
    ["another file", Buffer.from("Buy milk\nCall Ada\n")],
  ])("that is %s pays for nothing, and stays as it is", async (_, bytes) => {
    const folder = await opened();
    await writeFile(file(folder), bytes);
    const { call, bills } = await connected({ server: { folder } });
    const answer = await call(IMAGE, { ...reef, idempotency_key: key });
    expect(textOf(answer)).toMatch(/^Nothing was sent: .*sluice-calls\.jsonl/);
    expect(bills()).toBe(0);
    expect(await readFile(file(folder))).toEqual(bytes);
  });

  test("that cannot be written is an error before anything is paid", async () => {
    const folder = await opened();
    await writeFile(join(folder, "a-file"), "x");
    for (const impossible of [join(folder, "a-file", "pictures"), "/proc/sluice/pictures"]) {
      const { call, bills } = await connected({ server: { folder: impossible } });
      const answer = await call(IMAGE, { ...reef, idempotency_key: key });
      expect(textOf(answer)).toMatch(
        /^Nothing was sent: the record of paid calls failed: No files can be saved in/,
      );
      expect(bills()).toBe(0);
    }
  });

  test("has no Base64, and a repeated call shows the image again", async () => {
    const folder = await opened();
    const { call } = await connected({ server: { folder } });
    const input = { ...reef, idempotency_key: key };
    const types = async () => (await call(IMAGE, input)).content.map(({ type }) => type);
    expect(await types()).toEqual(["text", "resource_link", "image"]);
    expect(await types()).toEqual(["text", "resource_link", "image"]);
    expect((await readFile(file(folder), "utf8")).length).toBeLessThan(3000);
  });
});

const LONG = { firstChunkMs: Number.POSITIVE_INFINITY };
const busy = async () =>
  Response.json({ error: { message: "busy" } }, { status: 429, headers: { "retry-after": "1" } });
