import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { expectLog } from "../../../../packages/worker-proxy/test/support/expected-log.js";
import { listed, message, openConversations, openUser, unseen } from "./support/conversations.js";
import { faults, told } from "./support/kept-conversations.js";

expectLog("this page may not call the proxy");

const START = Date.UTC(2043, 0, 1);
let tests = 0;
let user = "";
/** Names of the objects that were asked. */
let asked: string[] = [];

beforeEach(() => {
  user = `dan-${++tests}`;
  told.length = 0;
  asked = [];
  faults.now = (name, go) => {
    asked.push(name);
    return go();
  };
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  faults.now = undefined;
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const nothing = { version: 0, records: {}, removed: [], isWhole: true };
const open = () => openUser(user);
const at = (id: string, rest = "") => `/v1/conversations/${id}${rest}`;

test("case 217: another user's id finds, changes, follows and removes nothing, on any path", async () => {
  const own = open();
  await own.write("~index", unseen({ "c-1": listed("My otters") }));
  const { json: first } = await own.write("c-1", unseen({ a: message("A secret otter") }));
  await own.ring("c-1");
  await own.lease("c-1", "device-a");
  const { next, leave } = await own.follow("c-1", `?since=${first.version}`);
  await next();
  const other = openUser(`${user}-other`);
  for (const id of ["c-1", "~index"]) expect((await other.read(id)).json).toEqual(nothing);
  expect((await other.ask(at("c-1", "/export"))).json).toBe("");
  expect(await other.search("otter")).toEqual([]);
  expect((await other.lease("c-1", "device-b")).json).toEqual({ isHeld: true });
  await other.release("c-1", "device-a");
  await other.pass("c-1", "device-b", { a: "forged" });
  await other.write("c-1", { a: { value: "forged", seen: Number.MAX_SAFE_INTEGER } });
  await other.remove("c-1");
  expect((await own.read("c-1")).json.records.a.value).toEqual(message("A secret otter"));
  expect((await own.lease("c-1", "device-c")).json.isHeld).toBe(false);
  expect(await own.search("otter")).toHaveLength(2);
  const { json: later } = await own.write("c-1", unseen({ b: "own" }));
  expect(await next()).toMatchObject({ event: "records", id: `${later.version}` });
  leave();
});

describe("case 218: an id of another shape", () => {
  test.each([
    ["of nothing", "", 404],
    ["with a path in it", "a/b", 404],
    ["that leads up", "..", 404],
    ["that leads up, encoded", "%2e%2e", 404],
    ["with half an escape", "%2", 404],
    ["with bytes that are no text", "%ff", 400],
    ["with a space", "a%20b", 400],
    ["with a line's end", "a%0ab", 400],
    ["with NUL", "%00", 400],
    ["that turns the direction of a text", "a%E2%80%AEb", 400],
    ["of 129 letters", "x".repeat(129), 400],
    ["of ours", "~other", 400],
    ["of ours, encoded", "%7Eother", 400],
  ])("An id %s reaches no object", async (_, id, status) => {
    // the operator's log names the path that was meant
    vi.spyOn(console, "error").mockImplementation(() => {});
    const answer = await open().ask(at(id, "/records"));
    expect(answer.status).toBe(status);
    expect(asked).toEqual([]);
  });

  test("An id with a slash, a colon or any letters in it is one id, and that of no other", async () => {
    const { write, read } = open();
    for (const id of ["a/b", "a:b", "日本🦦", "%", "x".repeat(128)]) {
      await write(id, unseen({ a: id }));
      expect((await read(id)).json.records.a.value).toBe(id);
    }
    expect((await read("a")).json).toEqual(nothing);
  });

  test("The index has no removal, and a conversation no search", async () => {
    const { ask, remove } = open();
    expect((await remove("~index")).status).toBe(400);
    expect((await ask(at("c-1", "/search?q=a"))).status).toBe(400);
    expect(asked).toEqual([]);
  });
});

describe("case 219: a question or a body of another shape is refused before it reaches an object", () => {
  test.each([
    "/records?since=-1",
    "/records?since=1.5",
    "/records?since=x",
    "/records?since=1&since=2",
    "/records?limit=1e3",
    "/records?more=1",
    "/records?",
    "/follow?since=99999999999999999",
    "/follow?device=a%20b",
    "/export?all=1",
  ])("GET %s", async (rest) => {
    const { status, json } = await open().ask(at("c-1", rest));
    expect([status, ["invalid_request", "query_not_allowed"].includes(json.error?.code)]).toEqual(
      rest === "/records?" ? [200, false] : [400, true],
    );
    expect(asked).toHaveLength(rest === "/records?" ? 1 : 0);
  });

  const device = "device-a";
  test.each([
    ["POST", "/records", {}],
    ["POST", "/records", { device }],
    ["POST", "/records", { device, changes: [] }],
    ["POST", "/records", { device, changes: { a: 1 } }],
    ["POST", "/records", { device, changes: { a: { seen: 0 } } }],
    ["POST", "/records", { device, changes: { a: { value: 1 } } }],
    ["POST", "/records", { device, changes: { a: { value: 1, seen: -1 } } }],
    ["POST", "/records", { device, changes: { a: { value: 1, seen: "x" } } }],
    ["POST", "/records", { device: "a b", changes: {} }],
    ["POST", "/records", { device, changes: {}, lease: 7 }],
    ["POST", "/pass", { device, records: null }],
    ["POST", "/leases", { device, name: "", ms: 1_000 }],
    ["POST", "/leases", { device, name: "a", ms: 999 }],
    ["POST", "/leases", { device, name: "a", ms: 60_001 }],
    ["POST", "/leases", { device, name: "a", ms: 1_000, wait: -1 }],
    ["DELETE", "/leases", {}],
  ])("%s %s %j", async (method, rest, body) => {
    const { status, json } = await open().ask(at("c-1", rest), { method, body });
    expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    expect(asked).toEqual([]);
  });

  test("More than 8 MiB of changes, and more than 256 KiB to pass, are 413", async () => {
    const { write, pass } = open();
    const large = "x".repeat(1_000_000);
    const changes = unseen(Object.fromEntries(Array.from({ length: 9 }, (_, key) => [`k-${key}`, large])));
    expect((await write("c-1", changes)).json.error.code).toBe("body_too_large");
    expect((await pass("c-1", "device-a", { a: "x".repeat(262_144) })).json.error.code).toBe(
      "body_too_large",
    );
    expect(asked).toEqual([]);
  });

  test("A cursor that was never given out is 400, and shows nothing", async () => {
    const { write, read } = open();
    await write("c-1", unseen({ a: "x" }));
    for (const cursor of ["x", "w1", "w-1-1", "d1-1-1", "w1-1;DROP"]) {
      const { status, json } = await read("c-1", `?cursor=${encodeURIComponent(cursor)}`);
      expect([status, json.error.code]).toEqual([400, "invalid_request"]);
    }
  });
});

test("case 220: writes at the same time to many conversations stay in the space of their user together", async () => {
  const { write, read } = open();
  const large = "x".repeat(1_000_000);
  const all = Array.from({ length: 20 }, (_, id) => write(`c-${id}`, unseen({ a: large })));
  const answers = await Promise.all(all);
  const refused = answers.filter(({ json }) => !json.taken?.a);
  const codes = refused.map(({ json }) => json.error?.code ?? json.refused.a.code);
  expect(codes).toEqual(refused.map(() => "space_exceeded"));
  expect(20 - refused.length).toBeLessThanOrEqual(12);
  expect(told.filter(({ code }) => code === "space_exceeded")).toHaveLength(refused.length);
  const sizes = await Promise.all(answers.map((_, id) => read(`c-${id}`)));
  expect(sizes.filter(({ json }) => json.records.a)).toHaveLength(20 - refused.length);
  // small ones come to an end, too, and leave nothing
  for (let id = 0; (await write(`small-${id}`, unseen({ a: "x" }))).status === 200; id += 1);
  const full = await write("one-more", unseen({ a: "x" }));
  expect([full.status, full.json.error.code]).toEqual([413, "space_exceeded"]);
  expect((await open().lease("one-more", "device-a")).status).toBe(413);
  expect((await read("one-more")).json).toEqual(nothing);
});

test("case 221: more than 100 leases, and more than 100 streams, of a conversation are refused until one ends", async () => {
  const { lease, follow } = open();
  for (let name = 0; name < 100; name += 1) await lease("c-1", "device-a", `m-${name}`);
  const refused = await lease("c-1", "device-a", "one-more");
  expect([refused.status, refused.json.error.code]).toEqual([429, "too_many_leases"]);
  expect((await lease("c-1", "device-a", "m-7")).json).toEqual({ isHeld: true });
  vi.setSystemTime(START + 10_001);
  expect((await lease("c-1", "device-a", "one-more")).json).toEqual({ isHeld: true });
  const streams = [];
  for (let count = 0; count < 100; count += 1) streams.push(await follow("c-2"));
  const more = await follow("c-2");
  expect(more.response.status).toBe(429);
  for (const { leave } of streams) leave();
  await expect
    .poll(async () => {
      const { response, leave } = await follow("c-2");
      leave();
      return response.status;
    })
    .toBe(200);
});

describe("case 222: conversations are behind the proxy's own gates", () => {
  const paths = ["/records", "/follow", "/export"].map((rest) => at("c-1", rest));

  test("A request without a user is 401, one of another page 403, and neither reaches an object", async () => {
    const { ask } = openConversations();
    for (const path of [...paths, at("~index", "/search?q=a")]) {
      expect((await ask(path, { user: "" })).status).toBe(401);
      const headers = { origin: "https://evil.example" };
      expect((await ask(path, { user, headers })).status).toBe(403);
    }
    for (const method of ["DELETE", "POST"])
      expect((await ask(at("c-1", "/leases"), { method, body: {}, user: "" })).status).toBe(401);
    expect(asked).toEqual([]);
  });

  test("A body that a page may send without a preflight is 415, also on a DELETE", async () => {
    const { ask } = openConversations();
    const headers = { "content-type": "text/plain" };
    for (const method of ["DELETE", "POST"])
      expect((await ask(at("c-1", "/leases"), { method, body: {}, user, headers })).status).toBe(415);
    expect(asked).toEqual([]);
  });

  test("Without the plugin there is nothing", async () => {
    const { ask } = openConversations({ plugins: [] });
    for (const path of paths) expect((await ask(path, { user })).status).toBe(404);
    expect(asked).toEqual([]);
  });

  test("A rate limit counts reads and writes as polls, and one that says no is 429", async () => {
    const kinds: unknown[] = [];
    const rateLimit = ({ isPoll, method }: { isPoll: boolean; method: string }) => {
      kinds.push([method, isPoll]);
      return { retryAfterMs: 1_000 };
    };
    const { ask } = openConversations({ rateLimit });
    expect((await ask(paths[0] ?? "", { user })).status).toBe(429);
    expect((await ask(at("c-1", "/records"), { user, method: "POST", body: {} })).status).toBe(429);
    expect(kinds).toEqual([
      ["GET", true],
      ["POST", true],
    ]);
    expect(asked).toEqual([]);
  });

  test("No answer is kept by a cache, or read as another type", async () => {
    const { write, read, follow } = open();
    await write("c-1", unseen({ a: "<script>" }));
    const { response, leave } = await follow("c-1");
    for (const { headers } of [await read("c-1"), response]) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    leave();
  });
});
