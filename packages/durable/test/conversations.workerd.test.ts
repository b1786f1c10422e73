import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { message, openConversations, unseen } from "./support/conversations.js";

const START = Date.UTC(2040, 0, 1);
let tests = 0;
let user = "";

beforeEach(() => {
  user = `ada-${++tests}`;
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A user's requests. */
function openUser() {
  const { read, write, follow, lease, ask } = openConversations();
  return {
    ask: (path: string, sent: object = {}) => ask(path, { user, ...sent }),
    read: (id: string, query?: string) => read(id, query, { user }),
    write: (id: string, changes: object, sent: object = {}) => write(id, changes, { user, ...sent }),
    follow: (id: string, query?: string, sent: object = {}) => follow(id, query, { user, ...sent }),
    lease: (id: string, device: string, name?: string, more?: object) =>
      lease(id, device, name, more, { user }),
  };
}

describe("records of a conversation", () => {
  test("A conversation that nobody has written to is empty, and stays so when it is read", async () => {
    const { read } = openUser();
    const nothing = { version: 0, records: {}, removed: [], isWhole: true };
    expect((await read("c-1")).json).toEqual(nothing);
    expect((await read("c-1", "?since=7")).json).toEqual(nothing);
  });

  test("A device reads what another one has written, and then the difference alone", async () => {
    const { read, write } = openUser();
    const first = await write("c-1", unseen({ a: message("Hello"), b: message("World") }));
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({ kept: {}, taken: { a: expect.any(Number), b: first.json.version } });
    const whole = await read("c-1");
    expect(whole.json).toEqual({
      version: first.json.version,
      removed: [],
      isWhole: true,
      records: {
        b: { version: first.json.taken.b, value: message("World") },
        a: { version: first.json.taken.a, value: message("Hello") },
      },
    });
    expect(Object.keys(whole.json.records)).toEqual(["b", "a"]);
    const second = await write("c-1", { a: { value: null, seen: first.json.taken.a } });
    const difference = await read("c-1", `?since=${first.json.version}`);
    expect(difference.json).toEqual({
      version: second.json.version,
      records: {},
      removed: ["a"],
      isWhole: false,
    });
  });
});

describe("the stream of a conversation", () => {
  test("A device that follows gets open leases, what was written before, and each later write", async () => {
    const { write, follow, lease, ask } = openUser();
    const { json } = await write("c-1", unseen({ a: message("Hello") }));
    await lease("c-1", "device-a");
    const { next, leave, response } = await follow("c-1", "?device=device-b");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await next()).toMatchObject({
      event: "leases",
      data: { leases: { "m-1": { device: "device-a", msLeft: 10_000 } } },
    });
    expect(await next()).toMatchObject({
      event: "records",
      id: String(json.version),
      data: { isWhole: true },
    });
    const { json: later } = await write("c-1", unseen({ b: message("World") }));
    expect(await next()).toMatchObject({
      event: "records",
      id: String(later.version),
      data: { isWhole: false, records: { b: { value: message("World") } } },
    });
    const pass = { device: "device-a", records: { b: "draft" } };
    expect((await ask("/v1/conversations/c-1/pass", { method: "POST", body: pass })).status).toBe(204);
    expect(await next()).toMatchObject({ event: "passed", data: pass });
    const body = { device: "device-a", name: "m-1" };
    expect((await ask("/v1/conversations/c-1/leases", { method: "DELETE", body })).status).toBe(204);
    expect(await next()).toMatchObject({ event: "leases", data: { leases: { "m-1": null } } });
    expect((await ask("/v1/conversations/c-1", { method: "DELETE" })).status).toBe(204);
    expect(await next()).toMatchObject({ event: "gone" });
    expect(await next()).toBeUndefined();
    leave();
  });
});
