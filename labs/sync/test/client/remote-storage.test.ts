import { type ChatStorage, memoryStorage } from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { settled } from "../../../../packages/core/test/support/gateway.js";
import { message, openEvents, openPage, refusal } from "./support/conversations.js";

/** Everything of a page that is on its way, without the time that waits take. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await settled();
}

afterEach(() => vi.unstubAllGlobals());

const HOUR_MS = 3_600_000;
const warnings = ({ events }: ReturnType<typeof openPage>) =>
  events.flatMap((event) => (event.type === "warning" ? event.issue.rule : []));

describe("a proxy that keeps no conversations", () => {
  test("A 404 makes it the local storage, which is said once and asked for seldom", async () => {
    const page = openPage(({ path }) =>
      path === "/health" ? Response.json({ ok: true }) : refusal(404, "not_found"),
    );
    const { shown } = await page.open();
    for (let nth = 0; nth < 50; nth += 1) await page.write({ [`m-${nth}`]: message(`${nth}`) });
    await rest();
    await page.clock.advance(HOUR_MS);
    await rest();
    expect(warnings(page)).toEqual(["remote.offer"]);
    expect(page.asked.length).toBeLessThan(40);
    expect([shown.size, (await page.local.read(page.collection)).size]).toEqual([50, 50]);
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
    expect((await page.local.read(`"${page.client.user}"/remote/outbox`)).size).toBe(0);
  });

  test("A page of HTML with status 200 is no server of conversations", async () => {
    const page = openPage(
      () => new Response("<!doctype html><title>App</title>", { headers: { "content-type": "text/html" } }),
    );
    await page.open();
    await page.write({ a: message("a") });
    await rest();
    expect(warnings(page)).toEqual(["remote.offer"]);
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
  });

  test("What was written without it is sent when it keeps conversations", async () => {
    const page = openPage(({ path }) =>
      path === "/health" ? Response.json({ ok: true }) : refusal(404, "not_found"),
    );
    await page.open();
    await page.write({ a: message("a") });
    await rest();
    page.answerBy(() => undefined);
    await page.clock.advance(600_000);
    await rest();
    expect(page.records.get("a")?.value).toEqual(message("a"));
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
  });

  test("One 404 of a server on the way is not believed where the proxy offers them", async () => {
    let isBroken = true;
    const page = openPage(({ path }) => {
      if (path === "/health") return new Response(null, { headers: { "x-sluice-offers": "conversations" } });
      return isBroken ? refusal(404, "not_found") : undefined;
    });
    await page.write({ a: message("a") });
    await rest();
    isBroken = false;
    await page.clock.advance(2000);
    await rest();
    expect(warnings(page)).toEqual([]);
    expect(page.records.get("a")?.value).toEqual(message("a"));
  });
});

describe("a server that refuses or fails", () => {
  test("A user who has signed out stays local, and what was written is sent after signing in", async () => {
    let isSignedIn = false;
    const page = openPage(() => (isSignedIn ? undefined : refusal(401, "unauthorized")));
    const { shown } = await page.open();
    await page.write({ a: message("a") });
    await rest();
    expect(shown.get("a")).toEqual(message("a"));
    expect(page.status()).toMatchObject({ isSyncing: false, unsent: 1, error: { status: 401 } });
    await page.clock.advance(HOUR_MS);
    await rest();
    // one minute apart, and not a request for each record
    expect(page.asked.length).toBeLessThan(200);
    isSignedIn = true;
    await page.clock.advance(60_000);
    await rest();
    expect(page.records.get("a")?.value).toEqual(message("a"));
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
    expect(warnings(page)).toEqual([]);
  });

  test("A Retry-After of a day is waited for a minute, and everything waits for it", async () => {
    let isBusy = true;
    const page = openPage(() =>
      isBusy ? refusal(429, "rate_limit", { "retry-after": "86400" }) : undefined,
    );
    await page.write({ a: message("a") });
    await rest();
    const before = page.asked.length;
    await page.write({ b: message("b") });
    await page.clock.advance(59_000);
    await rest();
    expect(page.asked.length).toBe(before);
    isBusy = false;
    await page.clock.advance(2000);
    await rest();
    expect([...page.records.keys()]).toEqual(["a", "b"]);
  });

  test.each([
    ["no JSON", () => new Response("{]")],
    ["JSON of another kind", () => Response.json([1, null])],
    ["an empty object", () => Response.json({})],
    [
      "versions that are no numbers",
      () => Response.json({ taken: { a: "1" }, kept: { a: { version: -1 } } }),
    ],
  ])("One answer of nonsense loses nothing: %s", async (_, nonsense) => {
    let isOdd = true;
    const page = openPage(({ path, method }) => {
      if (path === "/health") return new Response(null, { headers: { "x-sluice-offers": "conversations" } });
      return isOdd && (method === "POST" || path === "/records") ? nonsense() : undefined;
    });
    const { shown } = await page.open();
    await page.write({ a: message("a") });
    await rest();
    expect(shown.get("a")).toEqual(message("a"));
    isOdd = false;
    await page.clock.advance(5000);
    await rest();
    expect(page.records.get("a")?.value).toEqual(message("a"));
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
  });

  test.each([
    ["names nothing that was sent", { version: 1, taken: {}, kept: {} }],
    ["keeps its record whatever is sent", { version: 1, taken: {}, kept: { a: { version: 1, value: 1 } } }],
  ])("A server that answers and never moves is not asked again and again: it %s", async (_, answer) => {
    const page = openPage(({ method }) => (method === "POST" ? Response.json(answer) : undefined));
    await page.write({ a: message("a") });
    await rest();
    await page.clock.advance(HOUR_MS);
    await rest();
    expect(page.asked.length).toBeLessThan(100);
    expect(page.status().unsent).toBe(1);
  });

  test("A record that is too large is found among the others, which are all sent", async () => {
    const refused: string[] = [];
    const page = openPage(({ method, body }) =>
      method === "POST" && body.changes?.m3 ? refusal(413, "body_too_large") : undefined,
    );
    await page.write(
      Object.fromEntries(Array.from({ length: 8 }, (_, nth) => [`m${nth}`, message(`${nth}`)])),
    );
    await rest();
    expect([...page.records.keys()]).toEqual(["m0", "m1", "m2", "m4", "m5", "m6", "m7"]);
    for (const event of page.events) if (event.type === "storage-error") refused.push(event.messageId ?? "");
    expect(refused).toEqual(["m3"]);
    expect(page.status()).toMatchObject({ unsent: 1, error: { status: 413 } });
    // its next change is another record
    page.answerBy(() => undefined);
    await page.write({ m3: message("3", 2) });
    await rest();
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
  });

  test("A record that the server refuses by name stays here, and holds nothing up", async () => {
    const page = openPage(({ method, body }) =>
      method === "POST" && body.changes?.a
        ? Response.json({
            version: 1,
            taken: { b: 1 },
            kept: {},
            refused: { a: { code: "space_exceeded", message: "the space is used up" } },
          })
        : undefined,
    );
    await page.write({ a: message("a"), b: message("b") });
    await rest();
    expect(page.status()).toMatchObject({ unsent: 1, error: { message: "the space is used up" } });
    expect((await page.local.read(page.collection)).size).toBe(2);
    expect(page.asked).toEqual(["POST /records"]);
  });

  test("A change whose answer was lost is sent again, and taken once", async () => {
    let isLost = true;
    const page = openPage(({ method, body }) => {
      if (method !== "POST" || !isLost) return undefined;
      isLost = false;
      page.set("a", body.changes.a.value);
      throw new TypeError("terminated");
    });
    await page.write({ a: message("a") });
    await rest();
    await page.clock.advance(2000);
    await rest();
    expect(page.records.get("a")?.version).toBe(1);
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
  });
});

describe("following", () => {
  test("A stream that is cut goes on behind its last event, and nothing is lost", async () => {
    const page = openPage();
    const { shown, stop } = await page.open();
    await rest();
    page.follows[0]?.send(
      "records",
      {
        version: page.set("a", message("a")),
        records: { a: { version: 1, value: message("a") } },
        removed: [],
        isWhole: false,
      },
      1,
    );
    await rest();
    expect(shown.get("a")).toEqual(message("a"));
    let lastId: string | null = null;
    page.answerBy(({ path, headers }) => {
      if (path === "/follow") lastId = headers.get("last-event-id");
      return undefined;
    });
    page.set("b", message("b"));
    page.follows[0]?.cut();
    await rest();
    await page.clock.advance(2000);
    await rest();
    expect(shown.get("b")).toEqual(message("b"));
    expect(lastId).toBe("2");
    stop();
  });

  test("A stream that ends at once is opened with growing waits", async () => {
    const page = openPage(({ path }) => {
      if (path !== "/follow") return undefined;
      const events = openEvents();
      events.end();
      return events.response;
    });
    const { stop } = await page.open();
    await rest();
    await page.clock.advance(HOUR_MS);
    await rest();
    expect(page.asked.filter((one) => one === "GET /follow").length).toBeLessThan(80);
    stop();
  });

  test("A stream without a sign for 45 s is opened again", async () => {
    const page = openPage();
    const { stop } = await page.open();
    await rest();
    await page.clock.advance(44_000);
    await rest();
    expect(page.follows).toHaveLength(1);
    await page.clock.advance(4000);
    await rest();
    expect(page.follows).toHaveLength(2);
    stop();
  });

  test("Events of nonsense change nothing, and the records are read again", async () => {
    const page = openPage();
    const { shown, stop } = await page.open();
    await rest();
    page.set("a", message("a"));
    page.follows[0]?.send("records", { version: "soon" });
    await rest();
    await page.clock.advance(2000);
    await rest();
    expect(shown.get("a")).toEqual(message("a"));
    stop();
  });
});

describe("a server that was restored from a backup", () => {
  test.each([
    ["to nothing", 0],
    ["to an older version", 1],
  ])("It gets back what this browser has: %s", async (_, version) => {
    const page = openPage();
    const first = await page.open();
    await page.write({ a: message("a") });
    await page.write({ b: message("b") });
    await rest();
    first.stop();
    // the version is kept once the server has told of it
    const again = await page.open();
    await rest();
    again.stop();
    page.lose(version);
    const { shown, stop } = await page.open();
    await rest();
    expect([...page.records.keys()].sort()).toEqual(["a", "b"]);
    expect([...shown.keys()].sort()).toEqual(["a", "b"]);
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
    stop();
  });
});

describe("a conversation that was removed for good", () => {
  const gone = ({ path, method }: { path: string; method: string }) =>
    path === "/records" && method === "POST" ? refusal(410, "conversation_gone") : undefined;

  test("Another one of the same id stays in this browser, which is said, and the server is left alone", async () => {
    const page = openPage(gone);
    const { shown, stop } = await page.open();
    await page.write({ a: message("a") });
    await page.write({ b: message("b") });
    await rest();
    await page.clock.advance(HOUR_MS);
    await rest();
    expect(page.asked.filter((one) => one === "POST /records")).toHaveLength(1);
    expect([...shown.keys()]).toEqual(["a", "b"]);
    expect((await page.local.read(page.collection)).size).toBe(2);
    const failures = page.events.filter(({ type }) => type === "storage-error");
    expect(failures).toMatchObject([{ error: { message: expect.stringContaining("a new id") } }]);
    stop();
  });

  test("A copy that has unsent changes is removed, and their number is said", async () => {
    const page = openPage();
    page.set("a", message("a"));
    const { shown, stop } = await page.open();
    await rest();
    page.answerBy(gone);
    await page.write({ b: message("b") });
    await rest();
    expect([shown.size, (await page.local.read(page.collection)).size]).toEqual([0, 0]);
    const failures = page.events.filter(({ type }) => type === "storage-error");
    expect(failures).toMatchObject([{ error: { message: expect.stringContaining("1 unsent change") } }]);
    stop();
  });
});

describe("a full disk", () => {
  test("A message that can't be kept here is on the server all the same, and the write says so", async () => {
    const kept = memoryStorage();
    const local: ChatStorage = {
      ...kept,
      async write() {
        throw new DOMException("no room", "QuotaExceededError");
      },
    };
    const page = openPage(undefined, local);
    const written = page.write({ a: message("a") }).catch((error: Error) => error.name);
    expect(await written).toBe("QuotaExceededError");
    await rest();
    expect(page.records.get("a")?.value).toEqual(message("a"));
    expect(page.asked).toEqual(["POST /records"]);
    expect(page.status()).toEqual({ isSyncing: false, unsent: 0 });
  });
});

describe("pictures in messages", () => {
  const picture = `data:image/png;base64,${btoa("x".repeat(40_000))}`;
  const withPicture = (url: string) => message("look", 1, { images: [url] });

  test("A picture of more than 32 kB is uploaded once, and the server has its address", async () => {
    const url = "https://proxy.example.com/v1/media/abc";
    let uploads = 0;
    const page = openPage(({ path }) => {
      if (path !== "/v1/uploads") return undefined;
      uploads += 1;
      return Response.json({ id: "abc", offset: 40_000, url, expiresAt: Date.now() + 86_400_000 });
    });
    await page.write({ a: withPicture(picture) });
    await page.write({ b: withPicture(picture) });
    await rest();
    expect([page.records.get("a")?.value, page.records.get("b")?.value]).toEqual([
      withPicture(url),
      withPicture(url),
    ]);
    expect(uploads).toBe(1);
    // this browser shows it without a network
    expect((await page.local.read(page.collection)).get("a")).toEqual(withPicture(picture));
  });

  test("Where the proxy stores no files it stays here, which is said, and the others are sent", async () => {
    const page = openPage(({ path }) => (path === "/v1/uploads" ? refusal(404, "not_found") : undefined));
    await page.write({ a: withPicture(picture), b: message("b") });
    await rest();
    expect([...page.records.keys()]).toEqual(["b"]);
    const [failure] = page.events.filter(({ type }) => type === "storage-error");
    expect(failure).toMatchObject({
      messageId: "a",
      error: { message: expect.stringContaining("fileStore()") },
    });
    expect(page.status().unsent).toBe(1);
  });
});

describe("locks", () => {
  test("A lock that can't be renewed is not held after 30 s, and never again", async () => {
    let isDown = false;
    const page = openPage(({ path }) => (isDown && path === "/leases" ? refusal(503, "down") : undefined));
    const lock = await page.storage.devices.lock(page.collection, "m");
    await page.clock.advance(25_000);
    expect(lock?.isHeld).toBe(true);
    isDown = true;
    await page.clock.advance(24_000);
    await rest();
    expect(lock?.isHeld).toBe(true);
    await page.clock.advance(7000);
    expect(lock?.isHeld).toBe(false);
    isDown = false;
    await page.clock.advance(HOUR_MS);
    await rest();
    expect(lock?.isHeld).toBe(false);
    expect(page.asked.filter((one) => one === "POST /leases")).toHaveLength(5);
  });

  test("What is written while a lock is asked for goes to the server behind the answer", async () => {
    let answer: (response: undefined) => void = () => {};
    const page = openPage(({ path, method }) => {
      if (path !== "/leases" || method !== "POST") return undefined;
      return new Promise((resolve) => {
        answer = resolve;
      });
    });
    const locking = page.storage.devices.lock(page.collection, "m");
    await rest();
    await page.write({ m: message("m") });
    await rest();
    expect(page.changes).toEqual([]);
    answer(undefined);
    const lock = await locking;
    await rest();
    expect(page.changes).toHaveLength(1);
    await lock?.release();
    expect(page.asked.at(-1)).toBe("DELETE /leases");
  });

  test("An answer about a lock that never comes keeps nothing back for longer than 3 s", async () => {
    const page = openPage(({ path }) => (path === "/leases" ? new Promise(() => {}) : undefined));
    const locking = page.storage.devices.lock(page.collection, "m").catch((error: Error) => error);
    await rest();
    await page.write({ m: message("m") });
    await page.clock.advance(2900);
    await rest();
    expect(page.changes).toEqual([]);
    await page.clock.advance(200);
    await rest();
    expect(page.changes).toHaveLength(1);
    await page.clock.advance(30_000);
    await rest();
    expect(await locking).toMatchObject({ name: "ConnectionError" });
  });

  test("A lock is not given back before what was written under it is sent, and ends by itself", async () => {
    let isDown = false;
    const page = openPage(({ path }) => (isDown && path === "/records" ? refusal(503, "down") : undefined));
    const lock = await page.storage.devices.lock(page.collection, "m");
    isDown = true;
    await page.write({ m: message("m") });
    const released = lock?.release();
    await page.clock.advance(6000);
    await rest();
    await released;
    expect(lock?.isHeld).toBe(false);
    isDown = false;
    await page.clock.advance(HOUR_MS);
    await rest();
    expect(page.status().unsent).toBe(0);
    // neither given back nor renewed: the server ends it
    expect(page.asked.filter((one) => one.endsWith("/leases"))).toEqual(["POST /leases"]);
  });

  test("A lock that is taken again while it is given back is asked for behind that, and is kept", async () => {
    let answer = () => {};
    const page = openPage(({ path, method }) => {
      if (path !== "/leases" || method !== "DELETE") return undefined;
      return new Promise((resolve) => {
        answer = () => resolve(new Response(null, { status: 204 }));
      });
    });
    const leases = () => page.asked.filter((one) => one.endsWith("/leases"));
    const take = () => page.storage.devices?.lock(page.collection, "m");
    const first = await take();
    const released = first?.release();
    const second = take();
    await rest();
    expect(leases()).toEqual(["POST /leases", "DELETE /leases"]);
    answer();
    expect((await second)?.isHeld).toBe(true);
    await released;
    expect(leases()).toEqual(["POST /leases", "DELETE /leases", "POST /leases"]);
    await rest();
    expect(leases()).toHaveLength(3);
  });

  test("Where the proxy keeps no conversations every lock is free", async () => {
    const page = openPage(({ path }) =>
      path === "/health" ? Response.json({ ok: true }) : refusal(404, "not_found"),
    );
    const locks = await Promise.all([1, 2].map(() => page.storage.devices.lock(page.collection, "m")));
    expect(locks.map((lock) => lock?.isHeld)).toEqual([true, true]);
  });
});

describe("a record that two tabs write at once", () => {
  /** Opens a conversation whose tab has the server's newest record, and has another tab store an older one behind it. */
  async function writtenOver() {
    let hear: (news: ReadonlyMap<string, unknown>) => void = () => {};
    const memory = memoryStorage();
    const local: ChatStorage = {
      ...memory,
      watch(name, listener) {
        if (!name.includes("/remote/")) hear = listener;
        return () => {};
      },
    };
    const page = openPage(undefined, local);
    page.set("/leaf", "old");
    page.set("/leaf", "new");
    const opened = await page.open();
    await rest();
    const older = new Map([["/leaf", "old"]]);
    await memory.write(page.collection, older);
    hear(older);
    await rest();
    return { page, opened, stored: async () => (await memory.read(page.collection)).get("/leaf") };
  }

  test("The newest one is stored after some seconds, also where the first questions fail", async () => {
    const { page, opened, stored } = await writtenOver();
    const asked: (string | null)[] = [];
    page.answerBy(({ path, method, query }) => {
      if (path !== "/records" || method !== "GET") return undefined;
      asked.push(query.get("since"));
      return asked.length > 6 ? undefined : refusal(503, "unavailable");
    });
    expect(await stored()).toEqual("old");
    for (let second = 0; second < 60; second += 1) {
      await page.clock.advance(1000);
      await rest();
    }
    expect(await stored()).toEqual("new");
    const settledBy = asked.length;
    await page.clock.advance(HOUR_MS);
    await rest();
    // a stream that says nothing is opened again, and no record is in doubt any more
    expect(new Set(asked.slice(settledBy))).toEqual(new Set(["2"]));
    opened.stop();
  });

  test("A server that answers and never names it is asked eleven times, and no more", async () => {
    const { page, opened } = await writtenOver();
    let asked = 0;
    page.answerBy(({ path, method, query }) => {
      if (path !== "/records" || method !== "GET" || query.get("since") !== "1") return undefined;
      asked += 1;
      return Response.json({ version: 2, isWhole: false, records: {}, removed: [] });
    });
    for (let half = 0; half < 60; half += 1) {
      await page.clock.advance(30_000);
      // the stream lives: it is not opened again
      page.follows[0]?.send("leases", { leases: {} });
      await rest();
    }
    expect([asked, page.follows.length]).toEqual([11, 1]);
    opened.stop();
  });

  test("The next page shows the newest one where the tabs are closed before they could ask", async () => {
    const { page, opened, stored } = await writtenOver();
    opened.stop();
    await rest();
    expect(await stored()).toEqual("old");
    const next = await page.open();
    await rest();
    expect([next.shown.get("/leaf"), await stored()]).toEqual(["new", "new"]);
    next.stop();
  });
});

describe("an answer that another device passes, and that is cleared before its record came", () => {
  async function shownOnly() {
    const page = openPage();
    page.set("a", message("a"));
    const opened = await page.open();
    await rest();
    page.follows[0]?.send("passed", { records: { b: message("b") } });
    await rest();
    expect([...opened.shown.keys()]).toEqual(["a", "b"]);
    return { page, opened, version: page.set("b", null) };
  }

  test("It is taken back with the news of its removal", async () => {
    const { page, opened, version } = await shownOnly();
    page.follows[0]?.send("records", { version, records: {}, removed: ["b"] }, version);
    await rest();
    expect([...opened.shown.keys()]).toEqual(["a"]);
    opened.stop();
  });

  test("It is taken back after a connection that was lost meanwhile", async () => {
    const { page, opened } = await shownOnly();
    page.lose(5);
    page.set("a", message("a"));
    page.follows[0]?.cut();
    await page.clock.advance(60_000);
    await rest();
    expect([...opened.shown.keys()]).toEqual(["a"]);
    opened.stop();
  });
});

test("Doubts that no page has noted keep no page from following", async () => {
  const memory = memoryStorage();
  const page = openPage(undefined, memory);
  page.set("a", message("a"));
  (await page.open()).stop();
  await rest();
  const doubts = { none: 0, below: -5, half: 1.5, text: "1", nothing: null };
  const state = page.collection.replace("/chat/", "/remote/chat/");
  await memory.write(
    state,
    new Map<string, unknown>([
      ["doubts/1", doubts],
      ["doubts/2", "odd"],
    ]),
  );
  const asked: (string | null)[] = [];
  page.answerBy(({ path, method, query }) => {
    if (path === "/records" && method === "GET") asked.push(query.get("since"));
    return undefined;
  });
  const opened = await page.open();
  await rest();
  expect([asked, [...(await memory.read(state)).keys()]]).toEqual([["1"], ["state"]]);
  opened.stop();
});

describe("cost", () => {
  /** Counts what is read and written. */
  function counted(kept: ChatStorage) {
    const count = { reads: 0, read: 0, written: 0 };
    const storage: ChatStorage = {
      ...kept,
      async read(collection) {
        const records = await kept.read(collection);
        count.reads += 1;
        count.read += records.size;
        return records;
      },
      write(collection, changes) {
        count.written += changes.size;
        return kept.write(collection, changes);
      },
    };
    return { storage, count };
  }

  test.each([10, 10_000])("One message costs the same in a conversation of %i messages", async (size) => {
    const { storage: local, count } = counted(memoryStorage());
    const page = openPage(undefined, local);
    for (let nth = 0; nth < size; nth += 1) page.set(`m-${nth}`, message(`${nth}`));
    const { stop } = await page.open();
    await rest();
    Object.assign(count, { reads: 0, read: 0, written: 0 });
    await page.write({ a: message("a") });
    await rest();
    const version = page.set("b", message("b"));
    page.follows[0]?.send(
      "records",
      { version, records: { b: { version, value: message("b") } }, removed: [], isWhole: false },
      version,
    );
    await rest();
    // the record, its place in the outbox, and the end of that; the other one, and the version
    expect(count).toEqual({ reads: 0, read: 0, written: 5 });
    stop();
  });

  test("Many writes of one task go with one request", async () => {
    const page = openPage();
    for (let nth = 0; nth < 300; nth += 1) void page.write({ [`m-${nth}`]: message(`${nth}`) });
    await rest();
    expect(page.asked).toEqual(["POST /records"]);
  });

  test("Reading conversations without watching them asks the server for nothing", async () => {
    const page = openPage();
    await Promise.all(
      Array.from({ length: 100 }, (_, nth) => page.storage.read(page.collection.replace("trip", `c-${nth}`))),
    );
    await rest();
    expect(page.asked).toEqual([]);
  });

  test("A page with many conversations has few connections: the list and the three that were opened last", async () => {
    const page = openPage();
    const of = (id: string) => page.collection.replace("trip", id);
    const stops: (() => void)[] = [];
    for (let nth = 0; nth < 6; nth += 1) {
      stops.push(page.storage.watch(of(`c-${nth}`), () => {}));
      await rest();
    }
    const follows = page.asked.filter((one) => one.endsWith("/follow"));
    expect(follows).toHaveLength(6);
    await page.clock.advance(20_000);
    for (const { send } of page.follows.slice(3)) send("leases", { leases: {} });
    await rest();
    const news: string[] = [];
    for (let nth = 0; nth < 6; nth += 1)
      stops.push(page.storage.devices.watchLocks(of(`c-${nth}`), () => news.push(`c-${nth}`)));
    const before = page.asked.length;
    await page.clock.advance(31_000);
    await rest();
    // no news of leases comes without a stream: a lock that is waited for is asked for again
    expect(news.sort()).toEqual(["c-0", "c-1", "c-2"]);
    // the others are looked at each half minute
    const asked = page.asked.slice(before).filter((one) => one.endsWith("/records"));
    expect(new Set(asked)).toEqual(
      new Set(["c-0", "c-1", "c-2"].map((id) => `GET /v1/conversations/${id}/records`)),
    );
    for (const stop of stops) stop();
  });
});

describe("a network that is back (with events of the test's own)", () => {
  test("What could not be sent goes a second later, however long the wait had grown", async () => {
    const window = new EventTarget();
    vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
    let isDown = true;
    const page = openPage(() => {
      if (isDown) throw new TypeError("fetch failed");
      return undefined;
    });
    await page.write({ a: message("a") });
    await rest();
    await page.clock.advance(120_000);
    await rest();
    isDown = false;
    const before = page.asked.length;
    window.dispatchEvent(new Event("online"));
    await rest();
    expect(page.asked.length).toBe(before);
    await page.clock.advance(1000);
    await rest();
    expect(page.records.get("a")?.value).toEqual(message("a"));
  });
});

describe("a page that is hidden (with a document of the test's own)", () => {
  test("It ends its connection after a minute, and catches up when it is shown", async () => {
    const shown = Object.assign(new EventTarget(), { visibilityState: "visible" });
    vi.stubGlobal("document", shown);
    const show = (state: string) => {
      shown.visibilityState = state;
      shown.dispatchEvent(new Event("visibilitychange"));
    };
    const page = openPage();
    const opened = await page.open();
    await rest();
    show("hidden");
    await page.clock.advance(40_000);
    await rest();
    page.follows[0]?.send("leases", { leases: {} });
    await rest();
    await page.clock.advance(21_000);
    await rest();
    page.set("a", message("a"));
    await page.clock.advance(HOUR_MS);
    await rest();
    expect([page.follows.length, opened.shown.size]).toEqual([1, 0]);
    show("visible");
    await rest();
    expect([page.follows.length, opened.shown.get("a")]).toEqual([2, message("a")]);
    opened.stop();
  });
});
