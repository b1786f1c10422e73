import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStorage } from "@sluice/stores/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { CHAT, connect, IMAGE, joinTexts, question, VIDEO } from "./support/connect.js";

const reef = { prompt: "A reef" };
const key = "k-0123456789";

describe("A call that is repeated with its idempotency_key", () => {
  test("gets the first result, and pays once", async () => {
    const { call, countPosts } = await connect();
    const first = await call(IMAGE, { ...reef, idempotency_key: key });
    expect(await call(IMAGE, { idempotency_key: key, ...reef })).toEqual(first);
    expect(countPosts()).toBe(1);
  });

  test("shares the first call while it is in flight", async () => {
    const { call, countPosts } = await connect();
    const both = [0, 1].map(() => call(IMAGE, { ...reef, idempotency_key: key }));
    const [first, second] = await Promise.all(both);
    expect(second).toEqual(first);
    expect(countPosts()).toBe(1);
  });

  test("is refused for other arguments", async () => {
    const { call, countPosts } = await connect();
    await call(IMAGE, { ...reef, idempotency_key: key });
    const other = await call(IMAGE, { prompt: "A lake", idempotency_key: key });
    expect(joinTexts(other)).toMatch(/^Nothing was sent: this idempotency_key belongs to another call/);
    expect(countPosts()).toBe(1);
  });

  test("is sent again after a refusal, which costs nothing", async () => {
    const { call, countPosts } = await connect();
    const busy = { prompt: "A reef [[429:1]]", idempotency_key: key };
    expect((await call(IMAGE, busy)).isError).toBe(true);
    expect((await call(IMAGE, busy)).isError).toBeUndefined();
    expect(countPosts()).toBe(2);
  });
});

describe("A call that may be billed", () => {
  const lost = { prompt: "A reef [[drop]]" };

  test("is not sent again straight to the gateway, with or without its key", async () => {
    const { call, countPosts } = await connect({ client: { idempotencyKeys: false } });
    expect((await call(IMAGE, { ...lost, idempotency_key: key })).isError).toBe(true);
    for (const again of [lost, { ...lost, idempotency_key: key }, lost])
      expect(joinTexts(await call(IMAGE, again))).toMatch(
        /^Nothing was sent: an earlier call with the same arguments/,
      );
    expect(countPosts()).toBe(1);
  });

  test("is not sent again through a proxy that does not know keys", async () => {
    const { call, countPosts, emulator } = await connect();
    await call(IMAGE, lost);
    expect(joinTexts(await call(IMAGE, lost))).toMatch(/^Nothing was sent: an earlier call/);
    expect(countPosts()).toBe(1);
    expect(emulator.requests.map(({ path }) => path)).toContain("/health");
  });

  test("is paid for again with a new key, if the user wants it", async () => {
    const { call, countPosts } = await connect();
    await call(IMAGE, lost);
    await call(IMAGE, { ...lost, idempotency_key: "k-new-and-random" });
    expect(countPosts()).toBe(2);
  });

  test("can be a cancelled call: hosts cancel a long call and try again", async () => {
    const { call, countPosts, emulator } = await connect();
    const caller = new AbortController();
    const slow = { prompt: "A reef [[stall]]" };
    const calling = call(IMAGE, slow, { signal: caller.signal });
    await expect.poll(() => emulator.requests.length).toBe(1);
    caller.abort();
    await expect(calling).rejects.toThrow();
    expect(joinTexts(await call(IMAGE, slow))).toMatch(/^Nothing was sent: an earlier call/);
    expect(countPosts()).toBe(1);
  });

  test("does not block an equal call after a successful one", async () => {
    const { call, countPosts } = await connect();
    await call(IMAGE, reef);
    await call(IMAGE, reef);
    expect(countPosts()).toBe(2);
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
    "is refused for a wrong type or format, and %s sends nothing",
    async (tool, input) => {
      const { call, emulator } = await connect();
      for (const idempotency_key of [...wrong, "k".repeat(256)]) {
        const result = await call(tool, { ...input, idempotency_key });
        expect(result.isError).toBe(true);
        expect(joinTexts(result)).toMatch(
          /^Nothing was sent: idempotency_key must be a text of 8 to 255 ASCII letters, .*got /,
        );
        expect(joinTexts(result)).toContain(`got ${JSON.stringify(idempotency_key)}`);
      }
      expect(emulator.requests).toEqual([]);
    },
  );
});

describe("The ledger in the folder", () => {
  const openLedger = async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-ledger-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const toLedgerPath = (folder: string) => join(folder, "sluice-calls.jsonl");

  test("gives another session the result of a call with its key, and nothing is paid again", async () => {
    const folder = await openLedger();
    const firstSession = await connect({ server: { folder } });
    const first = await firstSession.call(IMAGE, { ...reef, idempotency_key: key });
    const secondSession = await connect({ server: { folder } });
    expect(await secondSession.call(IMAGE, { ...reef, idempotency_key: key })).toEqual(first);
    expect(secondSession.emulator.requests).toEqual([]);
  });

  test("lets two sessions with one key at once pay once", async () => {
    const folder = await openLedger();
    const clock = { now: () => Date.now(), sleep: async () => {} };
    const firstSession = await connect({ server: { folder }, client: { timeout: LONG } });
    const secondSession = await connect({ server: { folder }, client: { clock, timeout: LONG } });
    const both = await Promise.all(
      [firstSession, secondSession].map(({ call }) => call(IMAGE, { ...reef, idempotency_key: key })),
    );
    expect(both[1]).toEqual(both[0]);
    expect(firstSession.countPosts() + secondSession.countPosts()).toBe(1);
  });

  test("has the call before it is sent, so that a lost one is not sent again after a restart", async () => {
    const folder = await openLedger();
    let written = "";
    const firstSession = await connect({
      server: { folder },
      client: {
        idempotencyKeys: false,
        async fetch(request) {
          written = await readFile(toLedgerPath(folder), "utf8");
          throw new TypeError(`fetch failed for ${request.url}`);
        },
      },
    });
    await firstSession.call(IMAGE, { ...reef, idempotency_key: key });
    expect(written).toContain(key);
    for (const again of [{ ...reef, idempotency_key: key }, reef]) {
      const secondSession = await connect({ server: { folder }, client: { idempotencyKeys: false } });
      expect(joinTexts(await secondSession.call(IMAGE, again))).toMatch(/^Nothing was sent: an earlier call/);
      expect(secondSession.countPosts()).toBe(0);
    }
  });

  test("keeps a lost call even if a proxy refuses its repetition", async () => {
    const folder = await openLedger();
    let requests = 0;
    const responses = [() => Promise.reject(new TypeError("fetch failed")), createBusy, createBusy];
    const { call } = await connect({
      server: { folder },
      client: {
        async fetch(request) {
          if (request.method !== "POST")
            return new Response("", { headers: { "x-sluice-features": "idempotency" } });
          keys.push(request.headers.get("idempotency-key"));
          return (await responses[requests++]?.()) as Response;
        },
      },
    });
    const keys: (string | null)[] = [];
    for (const _ of responses) expect((await call(IMAGE, reef)).isError).toBe(true);
    expect(keys).toEqual([expect.any(String), keys[0], keys[0]]);
  });

  test("does not send a lost call again once the proxy may have forgotten its key", async () => {
    const folder = await openLedger();
    const features = { headers: { "x-sluice-features": "idempotency, resumable-streams" } };
    let bills = 0;
    const fetchAndLose = async (request: Request) => {
      if (request.method !== "POST") return new Response("", features);
      bills += 1;
      throw new TypeError("fetch failed");
    };
    const setup = { server: { folder }, client: { fetch: fetchAndLose } };
    await (await connect(setup)).call(IMAGE, { ...reef, idempotency_key: key });
    const records = await fileStorage(toLedgerPath(folder)).read("calls");
    const [[, record] = []] = records;
    const old = { ...(record as object), sentAt: Date.now() - 24 * 3_600_000 };
    await fileStorage(toLedgerPath(folder)).write("calls", new Map([[key, old]]));
    const { call } = await connect(setup);
    expect(joinTexts(await call(IMAGE, { ...reef, idempotency_key: key }))).toMatch(
      /^Nothing was sent: an earlier/,
    );
    expect(bills).toBe(1);
  });

  test("is never mistaken for an empty ledger if it is damaged", async () => {
    const folder = await openLedger();
    await fileStorage(toLedgerPath(folder)).write("calls", new Map([[key, { request: 7 }]]));
    const { call, countPosts } = await connect({ server: { folder } });
    expect(joinTexts(await call(IMAGE, { ...reef, idempotency_key: key }))).toMatch(/^Nothing was sent/);
    expect(countPosts()).toBe(0);
  });

  test.each([
    ["text in UTF-16", Buffer.from('{"calls":{}}\n', "utf16le")],
    ["another file", Buffer.from("Buy milk\nCall Ada\n")],
  ])("pays for nothing and stays unchanged if it is %s", async (_, bytes) => {
    const folder = await openLedger();
    await writeFile(toLedgerPath(folder), bytes);
    const { call, countPosts } = await connect({ server: { folder } });
    const result = await call(IMAGE, { ...reef, idempotency_key: key });
    expect(joinTexts(result)).toMatch(/^Nothing was sent: .*sluice-calls\.jsonl/);
    expect(countPosts()).toBe(0);
    expect(await readFile(toLedgerPath(folder))).toEqual(bytes);
  });

  test("fails before anything is paid if it cannot be written", async () => {
    const folder = await openLedger();
    await writeFile(join(folder, "a-file"), "x");
    for (const impossible of [join(folder, "a-file", "pictures"), "/proc/sluice/pictures"]) {
      const { call, countPosts } = await connect({ server: { folder: impossible } });
      const result = await call(IMAGE, { ...reef, idempotency_key: key });
      expect(joinTexts(result)).toMatch(
        /^Nothing was sent: the record of paid calls failed: No files can be saved in/,
      );
      expect(countPosts()).toBe(0);
    }
  });

  test("has no Base64, and a repeated call shows the image again", async () => {
    const folder = await openLedger();
    const { call } = await connect({ server: { folder } });
    const input = { ...reef, idempotency_key: key };
    const listTypes = async () => (await call(IMAGE, input)).content.map(({ type }) => type);
    expect(await listTypes()).toEqual(["text", "resource_link", "image"]);
    expect(await listTypes()).toEqual(["text", "resource_link", "image"]);
    expect((await readFile(toLedgerPath(folder), "utf8")).length).toBeLessThan(3000);
  });
});

const LONG = { firstChunkMs: Number.POSITIVE_INFINITY };
const createBusy = async () =>
  Response.json({ error: { message: "busy" } }, { status: 429, headers: { "retry-after": "1" } });
