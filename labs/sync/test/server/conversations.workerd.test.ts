import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { listed, message, openUser, unseen } from "./support/conversations.js";
import { told } from "./support/kept-conversations.js";

const START = Date.UTC(2040, 0, 1);
const DAY = 86_400_000;
let tests = 0;
let user = "";

beforeEach(() => {
  user = `ada-${++tests}`;
  told.length = 0;
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const nothing = { version: 0, records: {}, removed: [], isWhole: true };
const open = () => openUser(user);
/** Texts of many records, by keys in their order. */
const many = (count: number, text = "x") =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k-${String(at).padStart(5, "0")}`, text]));

describe("records of a conversation", () => {
  test("A conversation that nobody has written to is empty, and stays so when it is read", async () => {
    const { read, ask } = open();
    expect((await read("c-1")).json).toEqual(nothing);
    expect((await read("c-1", "?since=7")).json).toEqual(nothing);
    expect((await ask("/v1/conversations/c-1/export")).json).toBe("");
  });

  test("A device reads what another one has written, the newest first, and then the difference alone", async () => {
    const { read, write } = open();
    const first = await write("c-1", unseen({ a: message("Hello"), b: message("World") }));
    const { taken, version } = first.json;
    expect([first.status, first.json.kept, first.json.refused]).toEqual([200, {}, undefined]);
    const whole = await read("c-1");
    expect(whole.json).toEqual({
      version,
      removed: [],
      isWhole: true,
      records: {
        b: { version: taken.b, value: message("World") },
        a: { version: taken.a, value: message("Hello") },
      },
    });
    expect(Object.keys(whole.json.records)).toEqual(["b", "a"]);
    expect(whole.headers.get("x-sluice-offers")).toBe("conversations");
    const second = await write("c-1", { a: { value: null, seen: taken.a } });
    expect((await read("c-1", `?since=${version}`)).json).toEqual({
      version: second.json.version,
      records: {},
      removed: ["a"],
      isWhole: false,
    });
  });

  test("Of two devices that change one record, the second is told what the first one wrote", async () => {
    const { write } = open();
    const { json } = await write("c-1", unseen({ a: "as it was" }));
    const seen = json.taken.a;
    const [first, second] = await Promise.all([
      write("c-1", { a: { value: "by one", seen } }),
      write("c-1", { a: { value: "by the other", seen } }, { device: "device-b" }),
    ]);
    const [won, lost] = first.json.taken.a ? [first, second] : [second, first];
    expect(lost.json.taken).toEqual({});
    expect(lost.json.kept.a.version).toBe(won.json.taken.a);
    expect(["by one", "by the other"]).toContain(lost.json.kept.a.value);
    const joined = { a: { value: "joined", seen: lost.json.kept.a.version } };
    expect((await write("c-1", joined)).json.taken.a).toBeGreaterThan(won.json.taken.a);
  });

  test("A write that comes again after its answer was lost is taken once", async () => {
    const { read, write } = open();
    const changes = unseen({ a: message("Hello"), b: null });
    const first = await write("c-1", changes);
    const again = await write("c-1", changes);
    expect(again.json).toEqual(first.json);
    const removal = { a: { value: null, seen: first.json.taken.a } };
    const [removed, repeated] = [await write("c-1", removal), await write("c-1", removal)];
    expect(repeated.json).toEqual(removed.json);
    expect((await read("c-1", `?since=${first.json.version}`)).json.removed).toEqual(["a"]);
  });

  test("A record that another device removed is not brought back by a write that has not seen that", async () => {
    const { write } = open();
    const { json } = await write("c-1", unseen({ a: "as it was" }));
    const removed = await write("c-1", { a: { value: null, seen: json.taken.a } });
    const late = await write("c-1", { a: { value: "late", seen: json.taken.a } });
    expect(late.json.kept).toEqual({ a: { version: removed.json.version, value: null } });
    const known = await write("c-1", { a: { value: "again", seen: removed.json.version } });
    expect(known.json.taken.a).toBe(removed.json.version + 1);
  });

  test("Any text is a key and any JSON a value", async () => {
    const { read, write } = open();
    const values = {
      __proto__x: 1,
      "/queued/1": [],
      "ключ \u{1f9a6}": { "": null },
      7: "seven",
      constructor: false,
    };
    const changes = JSON.parse(`{"__proto__":{"value":"p","seen":0}}`);
    await write("c-1", { ...unseen(values) });
    await write("c-1", changes);
    const { json } = await read("c-1");
    const got = Object.entries(json.records).map(([key, record]) => [
      key,
      (record as { value: unknown }).value,
    ]);
    expect(Object.fromEntries(got.filter(([key]) => key !== "__proto__"))).toEqual(values);
    expect(got.find(([key]) => key === "__proto__")?.[1]).toBe("p");
  });

  test("Pages of a whole read begin with the newest, and what is written meanwhile comes after their version", async () => {
    const { read, write } = open();
    await write("c-1", unseen(many(1_000)));
    await write("c-1", unseen({ last: "x" }));
    const first = (await read("c-1", "?limit=600")).json;
    expect(Object.keys(first.records)[0]).toBe("last");
    const seen = (await read("c-1", `?since=${first.version - 1}`)).json.version;
    const oldest = (await read("c-1", `?limit=1000&cursor=${first.next}`)).json.records["k-00000"].version;
    await write("c-1", { "k-00000": { value: "later", seen: oldest } });
    const second = (await read("c-1", `?limit=600&cursor=${first.next}`)).json;
    expect([second.version, second.isWhole, second.next]).toEqual([first.version, true, undefined]);
    expect(Object.keys({ ...first.records, ...second.records })).toHaveLength(1_000);
    const rest = (await read("c-1", `?since=${seen}`)).json;
    expect(rest.records).toEqual({ "k-00000": { version: rest.version, value: "later" } });
  });

  test("Pages of a difference go on where the last one ended", async () => {
    const { read, write } = open();
    const { json } = await write("c-1", unseen({ first: "x" }));
    const before = await write("c-1", unseen(many(700)));
    await write("c-1", { "k-00003": { value: null, seen: before.json.taken["k-00003"] } });
    const one = (await read("c-1", `?since=${json.version}&limit=500`)).json;
    const two = (await read("c-1", `?since=${json.version}&limit=500&cursor=${one.next}`)).json;
    expect([one.isWhole, Object.keys(one.records).length, two.next]).toEqual([false, 500, undefined]);
    expect([Object.keys(two.records).length, two.removed]).toEqual([199, ["k-00003"]]);
  });

  test("A page holds 4 MiB, and at least one record", async () => {
    const { read, write } = open();
    const large = "x".repeat(1_000_000);
    for (const key of ["a", "b", "c", "d", "e"]) await write("c-1", unseen({ [key]: large }));
    const { json } = await read("c-1");
    expect([Object.keys(json.records), typeof json.next]).toEqual([["e", "d", "c", "b"], "string"]);
  });

  test("A device that was away for longer than removals are remembered reads the whole", async () => {
    const { read, write, ring } = open();
    const { json } = await write("c-1", unseen({ a: "x", b: "y" }));
    await write("c-1", { a: { value: null, seen: json.taken.a } });
    await ring("c-1");
    expect((await read("c-1", `?since=${json.version}`)).json).toMatchObject({
      isWhole: false,
      removed: ["a"],
    });
    vi.setSystemTime(START + 31 * DAY);
    await ring("c-1");
    expect((await read("c-1", `?since=${json.version}`)).json).toMatchObject({
      isWhole: true,
      removed: [],
      records: { b: { value: "y" } },
    });
  });

  test("An export has one line of JSON for each record", async () => {
    const { ask, write } = open();
    const { json } = await write("c-1", unseen(many(50)));
    const { headers, json: text } = await ask("/v1/conversations/c-1/export");
    expect(headers.get("content-type")).toBe("application/x-ndjson");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line: string) => JSON.parse(line));
    expect(lines).toHaveLength(50);
    expect(lines[49]).toEqual({ key: "k-00049", version: json.version, value: "x" });
  });
});

describe("case 220: one record that can't be kept", () => {
  const codesOf = (refused: Record<string, { code: string }>) =>
    Object.fromEntries(Object.entries(refused).map(([key, { code }]) => [key, code]));

  test("A record that is too large holds up none of the others, and is reported", async () => {
    const { write, read } = open();
    const { json } = await write(
      "c-1",
      unseen({ a: "x".repeat(1_048_600), ["k".repeat(513)]: 1, b: "fits" }),
    );
    expect(codesOf(json.refused)).toEqual({ a: "record_too_large", ["k".repeat(513)]: "key_too_long" });
    expect(json.refused.a.message).toContain("1048576");
    expect(Object.keys((await read("c-1")).json.records)).toEqual(["b"]);
    expect(told).toMatchObject([
      { kind: "sync:conversation", id: "c-1", outcome: "refused", code: "record_too_large", user },
      { kind: "sync:conversation", id: "c-1", outcome: "refused", code: "key_too_long", user },
    ]);
  });

  test("A conversation that is full takes changes of what it has, and no further record until one is removed", async () => {
    const { write } = open();
    await write("c-1", unseen(many(1_000)));
    const { json } = await write("c-1", unseen(Object.fromEntries(Object.entries(many(1_500)).slice(1_000))));
    const key = "k-01499";
    const full = await write("c-1", {
      ...unseen({ more: "x" }),
      [key]: { value: "y", seen: json.taken[key] },
    });
    expect(codesOf(full.json.refused)).toEqual({ more: "conversation_full" });
    const seen = full.json.taken[key];
    expect((await write("c-1", { [key]: { value: null, seen } })).json.refused).toBeUndefined();
    expect((await write("c-1", unseen({ more: "x" }))).json.taken.more).toBeGreaterThan(seen);
  });

  test("The space of a user is one for all conversations, and what is removed gives some back", async () => {
    const { write, remove } = open();
    const large = "x".repeat(1_000_000);
    const taken: string[] = [];
    for (let at = 0; at < 13; at += 1) {
      const { json } = await write(`c-${at}`, unseen({ a: large }));
      if (json.taken?.a) taken.push(`c-${at}`);
      else expect(json.error?.code ?? json.refused.a.code).toBe("space_exceeded");
    }
    // each has set half as much again aside
    expect(taken.length).toBeGreaterThanOrEqual(8);
    expect(taken.length).toBeLessThan(13);
    for (const id of taken.slice(0, 2)) await remove(id);
    expect((await write("c-12", unseen({ a: large }))).json.refused).toBeUndefined();
  });

  test("Devices that write at once to a new conversation are all taken, a small write beside large ones too", async () => {
    const { write, read } = open();
    const sizes = [9_000, 100, 3_000, 700, 12_000, 50, 5_000, 1];
    const written = await Promise.all(
      sizes.map((size, at) => write("c-1", unseen({ [`of-${at}`]: "x".repeat(size) }))),
    );
    expect(written.map(({ json }, at) => [json.refused, Object.keys(json.taken)[0] === `of-${at}`])).toEqual(
      sizes.map(() => [undefined, true]),
    );
    expect(Object.keys((await read("c-1")).json.records)).toHaveLength(sizes.length);
    // and once more, where it has some space
    const more = await Promise.all(
      sizes.map((size, at) => write("c-1", unseen({ [`more-${at}`]: "y".repeat(4 * size) }))),
    );
    expect(more.flatMap(({ json }) => Object.keys(json.refused ?? {}))).toEqual([]);
  });

  test("Changes beyond a thousand, and beyond 4 MiB of what others wrote, are left for the next request", async () => {
    const { write } = open();
    const { json } = await write("c-1", unseen(many(1_100)));
    expect(Object.keys(json.taken)).toHaveLength(1_000);
    const large = "x".repeat(1_000_000);
    for (const key of ["a", "b", "c", "d", "e"]) await write("c-2", unseen({ [key]: large }));
    const late = await write("c-2", unseen({ a: 1, b: 1, c: 1, d: 1, e: 1 }));
    expect([Object.keys(late.json.kept), late.json.taken]).toEqual([["a", "b", "c", "d"], {}]);
  });
});

describe("the stream of a conversation", () => {
  test("A device that follows gets open leases, what was written before, and each later change", async () => {
    const { write, follow, lease, pass, release, remove } = open();
    const { json } = await write("c-1", unseen({ a: message("Hello") }));
    await lease("c-1", "device-a");
    const { next, response } = await follow("c-1", "?device=device-b");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const held = { "m-1": { device: "device-a", msLeft: 10_000 } };
    expect(await next()).toMatchObject({ event: "leases", id: undefined, data: { leases: held } });
    expect(await next()).toMatchObject({ event: "records", id: `${json.version}`, data: { isWhole: true } });
    const { json: later } = await write("c-1", unseen({ b: message("World") }));
    const records = { b: { version: later.version, value: message("World") } };
    expect(await next()).toMatchObject({ id: `${later.version}`, data: { isWhole: false, records } });
    expect((await pass("c-1", "device-b", { b: "own" })).status).toBe(204);
    await pass("c-1", "device-a", { b: "draft" });
    const passed = { records: { b: "draft" }, device: "device-a" };
    expect(await next()).toEqual({ event: "passed", id: undefined, data: passed });
    expect((await release("c-1", "device-a")).status).toBe(204);
    expect(await next()).toMatchObject({ event: "leases", data: { leases: { "m-1": null } } });
    expect((await remove("c-1")).status).toBe(204);
    expect((await next())?.event).toBe("gone");
    expect(await next()).toBeUndefined();
  });

  test("A stream goes on after the last event that a device has seen", async () => {
    const { write, follow } = open();
    const first = await write("c-1", unseen({ a: "x" }));
    await write("c-1", unseen({ b: "y" }));
    const headers = { "last-event-id": `${first.json.version}` };
    const { next, leave } = await follow("c-1", "", { headers });
    expect((await next())?.event).toBe("leases");
    expect((await next())?.data).toMatchObject({ isWhole: false, records: { b: { value: "y" } } });
    leave();
  });

  test("A difference of many pages comes page by page, and a whole with the place of its next page", async () => {
    const { write, follow, read } = open();
    const first = await write("c-1", unseen({ a: "x" }));
    await write("c-1", unseen(many(900)));
    const { next, leave } = await follow("c-1", `?since=${first.json.version}`);
    await next();
    const [one, two] = [await next(), await next()];
    expect([one, two].map((event) => Object.keys(event?.data.records).length)).toEqual([500, 400]);
    leave();
    const whole = await follow("c-1");
    await whole.next();
    const { data } = (await whole.next()) ?? {};
    const rest = await read("c-1", `?cursor=${data.next}`);
    expect([data.isWhole, Object.keys(rest.json.records).length]).toEqual([true, 401]);
    whole.leave();
  });

  test("A device may follow before anything is written", async () => {
    const { write, follow } = open();
    const { next, leave } = await follow("c-1");
    expect(await next()).toMatchObject({ event: "leases", data: { leases: {} } });
    const reading = next();
    await write("c-1", unseen({ a: "x" }));
    expect((await reading)?.data).toMatchObject({ records: { a: { value: "x" } } });
    leave();
  });
});

describe("a change that follows another one on its way", () => {
  const last = (sent: unknown) => ({ a: { value: "second", seen: 0, sent } });

  test.each([
    ["behind it", ["first", "second"]],
    ["before it", ["second", "first"]],
  ])("It is the last one where it arrives %s", async (_, [one]) => {
    const { write, read } = open();
    const first = () => write("c-1", unseen({ a: "first" }));
    const second = () => write("c-1", last("first"));
    if (one === "first") await first().then(second);
    else await second().then(first);
    expect((await read("c-1")).json.records).toMatchObject({ a: { value: "second" } });
  });

  test("It removes what the one before it has added, and adds what that has removed", async () => {
    const { write, read } = open();
    await write("c-1", unseen({ a: "first" }));
    expect((await write("c-1", { a: { value: null, seen: 0, sent: "first" } })).json.kept).toEqual({});
    expect((await read("c-1")).json.records).toEqual({});
    expect((await write("c-1", last(null))).json.kept).toEqual({});
    expect((await read("c-1")).json.records).toMatchObject({ a: { value: "second" } });
  });

  test("It replaces nothing that another device has written meanwhile", async () => {
    const { write } = open();
    await write("c-1", unseen({ a: "theirs" }));
    expect((await write("c-1", last("first"))).json.kept).toMatchObject({ a: { value: "theirs" } });
  });
});

describe("a lease", () => {
  test("One device holds it until it gives it back or its time is over; another one is told how long", async () => {
    const { lease, release } = open();
    expect((await lease("c-1", "device-a")).json).toEqual({ isHeld: true });
    vi.setSystemTime(START + 4_000);
    expect((await lease("c-1", "device-b")).json).toEqual({ isHeld: false, msLeft: 6_000 });
    expect((await lease("c-1", "device-a")).json).toEqual({ isHeld: true });
    vi.setSystemTime(START + 13_000);
    expect((await lease("c-1", "device-b")).json).toEqual({ isHeld: false, msLeft: 1_000 });
    vi.setSystemTime(START + 14_000);
    expect((await lease("c-1", "device-b")).json).toEqual({ isHeld: true });
    expect((await release("c-1", "device-a")).status).toBe(204);
    expect((await lease("c-1", "device-a")).json.isHeld).toBe(false);
    await release("c-1", "device-b");
    expect((await lease("c-1", "device-a")).json.isHeld).toBe(true);
  });

  test("A device that waits has it as soon as it is given back", async () => {
    const { lease, release, follow } = open();
    await lease("c-1", "device-a");
    const { next, leave } = await follow("c-1");
    await next();
    const waiting = lease("c-1", "device-b", "m-1", { wait: 30_000 });
    await release("c-1", "device-a");
    expect((await waiting).json).toEqual({ isHeld: true });
    leave();
  });

  test("A write under a lease that another device holds changes nothing", async () => {
    const { lease, write, read } = open();
    await lease("c-1", "device-b");
    const refused = await write("c-1", unseen({ a: "x" }), { lease: "m-1" });
    expect([refused.status, refused.json.error.code]).toEqual([409, "lease_lost"]);
    expect((await read("c-1")).json.records).toEqual({});
    const taken = await write("c-1", unseen({ a: "x" }), { device: "device-b", lease: "m-1" });
    expect(taken.status).toBe(200);
  });

  test("A write gives leases back behind its records, and those who follow get both in this order", async () => {
    const { lease, write, follow } = open();
    await lease("c-1", "device-a");
    await lease("c-1", "device-b", "m-2");
    const { leave, next } = await follow("c-1");
    const sent = { release: ["m-1", "m-2", "unknown"] };
    expect((await write("c-1", unseen({ a: "x" }), sent)).status).toBe(200);
    const told: unknown[] = [];
    for (let isFree = false; !isFree; ) {
      const { data } = (await next()) ?? { data: undefined };
      told.push(data?.records ?? data?.leases);
      isFree = data === undefined || data.leases?.["m-1"] === null;
    }
    expect(told.slice(-2)).toMatchObject([{ a: { value: "x" } }, { "m-1": null }]);
    leave();
    expect((await lease("c-1", "device-c")).json.isHeld).toBe(true);
    // that of another device is not its to give
    expect((await lease("c-1", "device-c", "m-2")).json.isHeld).toBe(false);
  });

  test("A write of which a record is not taken gives no lease back: it runs out", async () => {
    const { lease, write } = open();
    await write("c-1", unseen({ a: "theirs" }));
    await lease("c-1", "device-a");
    const { json } = await write("c-1", unseen({ a: "mine", b: "x" }), { release: ["m-1"] });
    expect([Object.keys(json.kept), Object.keys(json.taken)]).toEqual([["a"], ["b"]]);
    expect((await lease("c-1", "device-b")).json.isHeld).toBe(false);
  });

  test.each([["m-1"], [[7]], [[""]], [Array(101).fill("m-1")]])(
    "A write that gives back %j is refused, with the name of the field",
    async (release) => {
      const { status, json } = await open().write("c-1", unseen({ a: "x" }), { release });
      expect([status, json.error.message]).toEqual([400, expect.stringContaining("release")]);
    },
  );

  test("A lease outlasts the object that gave it", async () => {
    const { lease, evict } = open();
    await lease("c-1", "device-a", "m-1", { ms: 1_000 });
    await evict("c-1");
    expect((await lease("c-1", "device-b")).json).toEqual({ isHeld: false, msLeft: 1_000 });
  });
});

describe("case 223: a conversation that is removed", () => {
  test("A conversation is off the list and out of the search, and a device that was away can't bring it back", async () => {
    const { write, remove, read, search, ring, follow } = open();
    await write("~index", unseen({ "c-1": listed("Otters") }));
    const { json } = await write("c-1", unseen({ a: message("An otter swims") }));
    await ring("c-1");
    expect(await search("otter")).toHaveLength(2);
    const list = (await read("~index")).json.version;
    expect((await remove("c-1")).status).toBe(204);
    expect(await search("otter")).toEqual([]);
    expect((await read("~index", `?since=${list}`)).json.removed).toEqual(["c-1"]);
    expect((await read("c-1")).json).toEqual(nothing);
    const late = await write("c-1", { a: { value: "late", seen: json.taken.a } });
    expect([late.status, late.json.error.code]).toEqual([410, "conversation_gone"]);
    const { next } = await follow("c-1", `?since=${json.version}`);
    expect([(await next())?.event, (await next())?.event, await next()]).toEqual([
      "leases",
      "gone",
      undefined,
    ]);
    expect((await remove("c-1")).status).toBe(204);
  });

  test("A removal of a conversation that is not there leaves nothing behind", async () => {
    const { remove, write } = open();
    expect((await remove("c-9")).status).toBe(204);
    expect((await write("c-9", unseen({ a: "x" }))).status).toBe(200);
  });

  test("A conversation in the bin is deleted after 30 days by the server's clock, and one that was taken out of it stays", async () => {
    const { write, read, ring, search } = open();
    const long = START - 400 * DAY;
    const { json } = await write("~index", unseen({ "c-1": listed("Otters"), "c-2": listed("Otters too") }));
    for (const id of ["c-1", "c-2"]) await write(id, unseen({ a: message("text") }));
    const seen = json.taken;
    const binned = await write("~index", {
      "c-1": { value: listed("Otters", { removedAt: long }), seen: seen["c-1"] },
      "c-2": { value: listed("Otters too", { removedAt: long }), seen: seen["c-2"] },
    });
    expect(await search("otters")).toEqual([]);
    await write("~index", { "c-2": { value: listed("Otters too"), seen: binned.json.taken["c-2"] } });
    vi.setSystemTime(START + 29 * DAY);
    await ring("~index");
    expect(Object.keys((await read("~index")).json.records).sort()).toEqual(["c-1", "c-2"]);
    vi.setSystemTime(START + 30 * DAY);
    await ring("~index");
    expect(Object.keys((await read("~index")).json.records)).toEqual(["c-2"]);
    expect((await read("c-1")).json).toEqual(nothing);
    expect((await read("c-2")).json.records.a).toBeDefined();
    expect(told).toMatchObject([
      { kind: "sync:conversation", id: "c-1", outcome: "dropped", code: "removed", user },
    ]);
  });

  test("A conversation that nobody writes to for longer than keepMs is deleted, and one that was written to stays", async () => {
    const { write, read, ring } = open();
    await write("~index", unseen({ "c-1": listed("One"), "c-2": listed("Two") }));
    for (const id of ["c-1", "c-2"]) await write(id, unseen({ a: "x" }));
    vi.setSystemTime(START + 80 * DAY);
    await write("c-2", unseen({ b: "y" }));
    vi.setSystemTime(START + 90 * DAY);
    await ring("~index");
    expect(Object.keys((await read("~index")).json.records)).toEqual(["c-2"]);
    expect([(await read("c-1")).json, (await read("c-2")).json.records.b.value]).toEqual([nothing, "y"]);
    expect(told).toMatchObject([{ id: "c-1", outcome: "dropped", code: "expired" }]);
  });
});

describe("the search", () => {
  test("It finds titles first and then texts, by every word and the start of the last one", async () => {
    const { write, ring, search } = open();
    await write("~index", unseen({ "c-1": listed("Rivers of Norway"), "c-2": listed("Cooking") }));
    await write("c-1", unseen({ a: message("Nothing here") }));
    const text = "Norway has long rivers, and the otter lives in most of them";
    await write("c-2", unseen({ b: message(text, { createdAt: 5_000 }), "/leaf": "b" }));
    for (const id of ["c-1", "c-2"]) await ring(id);
    expect(await search("norway riv")).toEqual([
      { id: "c-1", title: "Rivers of Norway", excerpt: "Rivers of Norway", at: 2_000 },
      { id: "c-2", title: "Cooking", key: "b", excerpt: expect.stringContaining("rivers"), at: 5_000 },
    ]);
    expect(await search("norway otters")).toEqual([]);
    expect(await search("NÓRWAY ott", "&limit=1")).toHaveLength(1);
  });

  test("A text that was changed or removed is found as it is now, and an answer in flight is not", async () => {
    const { write, ring, search } = open();
    const answer = (content: string, more: object = {}) => message(content, { role: "assistant", ...more });
    const { json } = await write("c-1", unseen({ a: answer("a beaver swims"), b: message("a heron") }));
    await ring("c-1");
    expect([await search("beaver"), await search("heron")]).toMatchObject([[], [{ key: "b" }]]);
    const ended = answer("a beaver dives", { outcome: "complete" });
    const changes = { a: { value: ended, seen: json.taken.a }, b: { value: null, seen: json.taken.b } };
    const { json: later } = await write("c-1", changes);
    await ring("c-1");
    expect([await search("beaver"), await search("heron"), await search("swims")]).toMatchObject([
      [{ key: "a" }],
      [],
      [],
    ]);
    const edited = answer("a marten climbs", { outcome: "complete" });
    await write("c-1", { a: { value: edited, seen: later.taken.a } });
    await ring("c-1");
    expect([await search("beaver"), await search("marten")]).toMatchObject([[], [{ key: "a" }]]);
  });

  test.each([
    "",
    "  ",
    "*",
    '"',
    'a" OR "b',
    "title:a",
    "NEAR(a b)",
    "-",
    "a AND",
    "' ; DROP TABLE docs",
    "日本",
  ])("case 225: the question %j is words and no command", async (question) => {
    const { write, search, ring } = open();
    await write("c-1", unseen({ a: message("something else") }));
    await ring("c-1");
    expect(await search(question)).toEqual([]);
  });
});
