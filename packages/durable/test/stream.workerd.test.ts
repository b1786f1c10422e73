import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { streamLog } from "@sluice/durable";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import { expectNoKey, KEY } from "../../worker-proxy/test/support/key.js";
import { gateway, refusal } from "./support/durable-gateway.js";
import { workerdTest } from "./support/platform.js";
import {
  idOf,
  liveAnswer,
  objectOf,
  openProxy,
  type StreamObject,
  storedIn,
  turn,
  wholeAnswer,
} from "./support/streams.js";

expectLog(
  "streamLogObject:",
  "502 upstream_cut",
  "502 upstream_auth",
  "502 upstream_error",
  "502 upstream_redirect",
  "502 upstream_type",
);

const piece = (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const done = "data: [DONE]\n\n";
const numbered = (events: readonly string[], first = 1) =>
  events.map((event, nth) => `id: ${first + nth}\n${event}`).join("");
const errorCode = (text: string) => /event: error\ndata: .*"code":"(\w+)"/.exec(text)?.[1];

/** Enough for several rows of the log. */
const events = [...Array.from({ length: 25 }, (_, nth) => piece(`part ${nth}, `)), finish, done];
const other = { headers: { authorization: "Bearer other-token" } };

afterEach(() => {
  vi.useRealTimers();
});

/** The time that objects see goes on, and then stands still. */
function later(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
}

describe("a logged stream", () => {
  test("has the place of each event as its id, and one of its own", async () => {
    let question: unknown;
    gateway.answers(async (request) => {
      expect(request.url).toBe("https://gateway.example/v1/chat/completions");
      expect(request.headers.get("authorization")).toBe(`Bearer ${KEY}`);
      expect(request.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
      question = await request.json();
      return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
    });
    const response = await openProxy().ask();
    expect(response.status).toBe(200);
    idOf(response);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await response.text()).toBe(numbered(events));
    expect(question).toEqual({ ...chat, stream: true });
  });

  test("is resumed at every place after its end, and has nothing more after the last", async () => {
    wholeAnswer(events.join(""));
    const { ask, resume } = openProxy();
    const response = await ask();
    await response.text();
    const id = idOf(response);
    expect(await (await resume(id)).text()).toBe(numbered(events));
    for (let seen = 0; seen < events.length; seen += 1)
      expect(await (await resume(id, seen)).text()).toBe(numbered(events.slice(seen), seen + 1));
    expect((await resume(id, events.length)).status).toBe(204);
    expect(gateway.requests).toHaveLength(1);
  });

  test("is resumed at every place while it comes, and goes on", async () => {
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const first = await ask();
    const id = idOf(first);
    for (const [nth, event] of events.slice(0, -2).entries()) {
      send(event);
      const resumed = readerOf(await resume(id, nth));
      expect(await resumed.until(`part ${nth}, `)).toBe(numbered([event], nth + 1));
      await resumed.leave();
    }
    const last = await resume(id, 7);
    send(finish + done);
    end();
    expect(await last.text()).toBe(numbered(events.slice(7), 8));
    expect(await first.text()).toBe(numbered(events));
    expect(gateway.requests).toHaveLength(1);
  });

  test("is read by two from different places, each at its own pace", async () => {
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const first = await ask();
    const id = idOf(first);
    send(events.slice(0, 14).join(""));
    await readerOf(first).until("part 13");
    const one = readerOf(await resume(id, 3));
    await one.until("part 13");
    const two = await resume(id, 11);
    send(events.slice(14).join(""));
    end();
    expect(await two.text()).toBe(numbered(events.slice(11), 12));
    expect(await one.until("[DONE]")).toBe(numbered(events.slice(3), 4));
  });

  test("reaches its reader at once, though it is written several at once", async () => {
    const { send, end } = liveAnswer();
    const { ask } = openProxy();
    const response = await ask();
    const reader = readerOf(response);
    send(piece("now"));
    expect(await reader.until("now")).toBe(numbered([piece("now")]));
    expect(await storedIn(await objectOf(idOf(response)), "events")).toEqual([]);
    send(finish + done);
    end();
    await reader.until("[DONE]");
    expect(await storedIn(await objectOf(idOf(response)), "events")).toHaveLength(1);
  });

  test("is read by eight at most", async () => {
    liveAnswer();
    const { ask, resume } = openProxy();
    const id = idOf(await ask());
    const client = new AbortController();
    for (let nth = 2; nth <= 7; nth += 1) await resume(id);
    expect((await resume(id, 0, { signal: client.signal })).status).toBe(200);
    const ninth = await resume(id);
    expect(ninth.status).toBe(429);
    expect(await ninth.json()).toMatchObject({ error: { code: "too_many_readers" } });
    client.abort();
    await expect.poll(async () => (await resume(id)).status === 200).toBe(true);
    expect((await resume(id)).status).toBe(429);
  });

  test("keeps neither the key nor the question", async () => {
    wholeAnswer(events.join(""));
    const response = await openProxy().ask({
      body: { ...chat, stream: true, messages: [{ role: "user", content: "my secret" }] },
    });
    await response.text();
    const object = await objectOf(idOf(response));
    const stored = JSON.stringify([await storedIn(object, "stream"), await storedIn(object, "events")]);
    expect(stored).toContain("part 24");
    expectNoKey(stored);
    expect(stored).not.toContain("my secret");
  });
});

describe("what is logged", () => {
  const messy = `\uFEFF: hello\r\n\r\nid: 77\r\nevent: message\r\ndata: {"a":"\u00fc\u{1f600}"}\r\n\r\n\n\n: alive\ndata: 1\ndata: 2\nid\n\nnote: {"message":"x"}\n\n${finish}data: [DONE]`;
  const tidy = numbered(['data: {"a":"\u00fc\u{1f600}"}\n\n', "data: 1\ndata: 2\n\n", finish, done]);

  test.each([1, 2, 3, 7, 1000])("is the gateway's events, in pieces of %i bytes too", async (size) => {
    const bytes = new TextEncoder().encode(messy);
    gateway.answers(() => {
      let at = 0;
      const body = new ReadableStream({
        pull(controller) {
          if (at >= bytes.length) return controller.close();
          controller.enqueue(bytes.slice(at, at + size));
          at += size;
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
    });
    expect(await (await openProxy().ask()).text()).toBe(tidy);
  });

  test("has an event that is too large for a row, for who reads it now", async () => {
    const large = piece("x".repeat(2_300_000));
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const response = await ask();
    send(piece("a"));
    const reader = readerOf(response);
    await reader.until("id: 1\n");
    send(large);
    await reader.until("id: 2\n");
    send(finish + done);
    end();
    expect(await reader.until("[DONE]")).toBe(numbered([piece("a"), large, finish, done]));
    const again = await (await resume(idOf(response))).text();
    expect(again.startsWith(numbered([piece("a")]))).toBe(true);
    expect(errorCode(again)).toBe("stream_interrupted");
  });

  test("case 68: has an event of a megabyte in ten thousand lines that came one by one", async () => {
    const lines = Array.from({ length: 10_000 }, (_, nth) => `data: ${nth}${"x".repeat(100)}\n`);
    let at = 0;
    gateway.answers(() => {
      const rest = [...lines, "\n", finish, done].map((text) => new TextEncoder().encode(text));
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const next = rest[at++];
        if (next) controller.enqueue(next);
        else controller.close();
      };
      return new Response(new ReadableStream({ pull }), { headers: { "content-type": "text/event-stream" } });
    });
    const { ask, resume } = openProxy();
    const response = await ask();
    const text = await response.text();
    expect(text === numbered([`${lines.join("")}\n`, finish, done])).toBe(true);
    expect((await (await resume(idOf(response))).text()) === text).toBe(true);
  });

  test("ends at 4 MB, where the fixture sets it, and the stream goes on for its readers", async () => {
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const response = await ask();
    const reader = readerOf(response);
    for (let nth = 1; nth <= 50; nth += 1) {
      send(piece("y".repeat(100_000)));
      await reader.until(`id: ${nth}\n`);
    }
    send(finish + done);
    end();
    expect(await reader.until("[DONE]")).toContain(numbered([finish, done], 51));
    const id = idOf(response);
    const object = await objectOf(id);
    const kept = (await storedIn(object, "events")).at(-1)?.["seq"] as number;
    expect(kept).toBe(40);
    const again = await (await resume(id, kept - 1)).text();
    expect(again).toContain(`id: ${kept}\n`);
    expect(errorCode(again)).toBe("stream_interrupted");
    await evicted(object);
    expect(errorCode(await (await resume(id, kept)).text())).toBe("stream_interrupted");
  });
});

describe("a storage that fails in mid-stream", () => {
  test("keeps no more, and the answer goes on for who reads it now", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const response = await ask();
    const id = idOf(response);
    const object = await objectOf(id);
    const reader = readerOf(response);
    for (const event of events.slice(0, 10)) send(event);
    await reader.until("part 9,");
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("CREATE TRIGGER full BEFORE INSERT ON answer BEGIN SELECT raise(FAIL, 'full'); END");
    });
    for (const event of events.slice(10)) send(event);
    end();
    expect(await reader.until("[DONE]")).toBe(numbered(events));
    expect(log.mock.calls.join()).toContain("its storage failed");
    expect(await storedIn(object, "stream")).toMatchObject([{ state: "done", whole: 0 }]);
    log.mockRestore();
    later(600_000);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await tablesIn(object)).toEqual([]);
    expect((await resume(id)).status).toBe(404);
  });
});

describe("who leaves", () => {
  test("does not stop the stream, by cancelling or by aborting", async () => {
    const answer = liveAnswer();
    const { ask, resume } = openProxy();
    const client = new AbortController();
    const response = await ask({ signal: client.signal });
    const id = idOf(response);
    answer.send(piece("a"));
    await readerOf(response).until("a");
    client.abort();
    const second = readerOf(await resume(id));
    await second.until("a");
    await second.leave();
    const third = await resume(id, 1);
    expect(answer.hasLeft).toBe(false);
    answer.send(finish + done);
    answer.end();
    expect(await third.text()).toBe(numbered([finish, done], 2));
  });

  test("DELETE stops a stream at the gateway, for all readers, and once", async () => {
    const answer = liveAnswer();
    const { ask, resume, stop } = openProxy();
    const response = await ask();
    const id = idOf(response);
    answer.send(piece("a"));
    const reader = readerOf(response);
    await reader.until("a");
    expect((await stop(id)).status).toBe(204);
    const text = await reader.until("never");
    expect(text.startsWith(numbered([piece("a")]))).toBe(true);
    expect(errorCode(text)).toBe("stream_stopped");
    expect(await (await resume(id)).text()).toBe(text);
    expect((await resume(id, 2)).status).toBe(204);
    expect((await stop(id)).status).toBe(204);
    await expect.poll(() => answer.hasLeft).toBe(true);
    expect(await storedIn(await objectOf(id), "stream")).toMatchObject([{ state: "cancelled" }]);
  });

  test("A reader who leaves before the gateway has answered can stop the stream, too", async () => {
    let hasLeft = false;
    gateway.answers(async ({ signal }) => {
      while (!signal.aborted) await turn();
      hasLeft = true;
      throw signal.reason;
    });
    const { ask, stop } = openProxy();
    const headers = { "idempotency-key": "early" };
    const asking = ask({ headers });
    const id = await derivedId("early");
    await expect.poll(async () => (await stop(id)).status === 204).toBe(true);
    expect(errorCode(await (await asking).text())).toBe("stream_stopped");
    await expect.poll(() => hasLeft).toBe(true);
  });

  test("leaves a stream that goes on for a minute without readers, and is then stopped", async () => {
    const answer = liveAnswer();
    const { ask, resume } = openProxy();
    const client = new AbortController();
    const id = idOf(await ask({ signal: client.signal }));
    const object = await objectOf(id);
    answer.send(piece("a"));
    await readerOf(await resume(id, 0, { signal: client.signal })).until("a");
    later(59_000);
    await runDurableObjectAlarm(object); // somebody reads
    client.abort();
    await expect.poll(() => runInDurableObject(object, () => true)).toBe(true);
    await turn();
    later(59_000);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(answer.hasLeft).toBe(false);
    later(1000);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    await expect.poll(() => answer.hasLeft).toBe(true);
    expect(errorCode(await (await resume(id)).text())).toBe("stream_stopped");
  });
});

describe("a request that waits for the gateway's first event", () => {
  test("is a reader, and leaves a stream without one", async () => {
    gateway.answers(async ({ signal }) => {
      while (!signal.aborted) await turn();
      throw signal.reason;
    });
    const { ask, stop } = openProxy();
    const patient = ask({ headers: { "idempotency-key": "patient" } });
    const client = new AbortController();
    const leaving = ask({ headers: { "idempotency-key": "leaving" }, signal: client.signal });
    const [stays, goes] = await Promise.all([derivedId("patient"), derivedId("leaving")]);
    await expect.poll(() => gateway.requests.length === 2).toBe(true);
    client.abort();
    await leaving;
    for (let turns = 0; turns < 10; turns += 1) await turn();
    later(60_000);
    for (const id of [stays, goes]) await runDurableObjectAlarm(await objectOf(id));
    expect(await storedIn(await objectOf(goes), "stream")).toMatchObject([{ state: "cancelled" }]);
    expect(await storedIn(await objectOf(stays), "stream")).toMatchObject([{ state: "open" }]);
    await stop(stays);
    await patient;
  });
});

describe("a reader", () => {
  test("gets a comment every 25 seconds in which nothing comes, of a stream that is looked at every 30", async () => {
    // with a clock that stands still, the alarm's time does not depend on the machine
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
    const answer = liveAnswer();
    const response = await openProxy().ask();
    const object = await objectOf(idOf(response));
    const reader = readerOf(response);
    for (const wanted of [":\n\n", ":\n\n:\n\n", ":\n\n:\n\n:\n\n"]) {
      const [at] = await alarmOf(object);
      expect(at).toBeGreaterThan(Date.now() + 25_000);
      expect(at).toBeLessThanOrEqual(Date.now() + 30_000);
      await beat(object);
      expect(await reader.until(wanted)).toBe(wanted);
      await runDurableObjectAlarm(object);
    }
    answer.send(finish + done);
    answer.end();
    expect(await reader.until("[DONE]")).toContain(numbered([finish, done]));
  });

  test("A reader that stops reading is ended, and can read on from its place", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const response = await ask();
    const id = idOf(response);
    const object = await objectOf(id);
    const long = Array.from({ length: 15 }, (_, nth) => piece(`${nth}${"z".repeat(100_000)}`));
    for (const event of long) send(event);
    const reading = readerOf(await resume(id));
    await reading.until("id: 15\n");
    const read = reading.until("[DONE]");
    for (let beats = 0; beats < 3; beats += 1) {
      await beat(object);
      await turn();
    }
    send(finish + done);
    end();
    // nobody read the first one: it gets what was under way, and then an end that is none
    const begun = await response.text();
    expect(begun).not.toContain("[DONE]");
    const seen = Number([...begun.matchAll(/^id: (\d+)\n.*\n\n/gm)].at(-1)?.[1] ?? 0);
    expect(seen).toBeLessThan(15);
    expect(await (await resume(id, seen)).text()).toBe(
      numbered([...long, finish, done].slice(seen), seen + 1),
    );
    expect((await read).replaceAll(":\n\n", "")).toBe(numbered([...long, finish, done]));
  });
});

describe("a stream whose object is restarted", () => {
  workerdTest("is interrupted, ends in an error behind the kept events, and is never repeated", async () => {
    later(0);
    const answer = liveAnswer();
    const { ask, resume, stop } = openProxy();
    const headers = { "idempotency-key": "once" };
    const client = new AbortController();
    const response = await ask({ headers, signal: client.signal });
    const id = idOf(response);
    for (const event of events.slice(0, 20)) answer.send(event);
    const reader = readerOf(response);
    await reader.until("part 19");
    // it does not fit into the row of the others, which is written
    answer.send(piece("large".repeat(299_980)));
    await reader.until("large");
    client.abort();
    await lost(await objectOf(id));
    const object = await objectOf(id);
    // the alarm of the open stream, which may be what wakes the object
    expect(await runDurableObjectAlarm(object)).toBe(true);
    const [at] = await alarmOf(object);
    expect(at).toBeGreaterThan(Date.now() + 590_000);
    for (const again of [await resume(id, 4), await ask({ headers })]) {
      const text = await again.text();
      expect(text).toContain(numbered(events.slice(4, 20), 5));
      expect(errorCode(text)).toBe("stream_interrupted");
      expect(text).not.toContain("[DONE]");
    }
    // also for one that had read more than was written
    expect(errorCode(await (await resume(id, 500)).text())).toBe("stream_interrupted");
    expect((await stop(id)).status).toBe(204);
    expect(await storedIn(object, "stream")).toMatchObject([{ state: "interrupted" }]);
    expect(gateway.requests).toHaveLength(1);
  });

  test("A stream whose object is restarted after its end is read as before", async () => {
    wholeAnswer(events.join(""));
    const { ask, resume } = openProxy();
    const response = await ask();
    await response.text();
    const id = idOf(response);
    await evicted(await objectOf(id));
    expect(await (await resume(id, 9)).text()).toBe(numbered(events.slice(9), 10));
    expect((await resume(id, events.length)).status).toBe(204);
  });
});

describe("ten minutes after its end", () => {
  test("nothing is left of a stream", async () => {
    later(0);
    wholeAnswer(events.join(""));
    const { ask, resume, stop } = openProxy();
    const headers = { "idempotency-key": "again" };
    const response = await ask({ headers });
    await response.text();
    const id = idOf(response);
    const object = await objectOf(id);
    const [at] = await alarmOf(object);
    expect(at).toBeGreaterThan(Date.now() + 590_000);
    expect(at).toBeLessThanOrEqual(Date.now() + 600_000);
    later(600_000);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await alarmOf(object)).toEqual([null]);
    expect(await tablesIn(object)).toEqual([]);
    expect((await resume(id)).status).toBe(404);
    expect((await stop(id)).status).toBe(404);
    expect(await tablesIn(object)).toEqual([]);
    // and the key is free again
    expect(await (await ask({ headers })).text()).toBe(numbered(events));
    expect(gateway.requests).toHaveLength(2);
  });
});

describe("a request with the key of a stream that is being forgotten", () => {
  test("gets a stream of its own, of which nothing is deleted", async () => {
    wholeAnswer(events.join(""));
    const { ask, resume } = openProxy();
    const headers = { "idempotency-key": "race" };
    const first = await ask({ headers });
    await first.text();
    const id = idOf(first);
    const object = await objectOf(id);
    later(600_000);
    const again = await runInDurableObject(object, async (instance) => {
      const forgetting = instance.alarm();
      const caller = encodeURIComponent(JSON.stringify({ id, user: { id: "u" }, isMetered: false }));
      const body = JSON.stringify({ ...chat, stream: true });
      const request = { method: "POST", headers: { "x-sluice-caller": caller }, body };
      const [answer] = await Promise.all([
        instance.fetch(new Request("https://stream-log.invalid/", request)),
        forgetting,
      ]);
      return answer.text();
    });
    expect(again).toBe(numbered(events));
    expect(await (await resume(id, 20)).text()).toBe(numbered(events.slice(20), 21));
    const [at] = await alarmOf(object);
    expect(at).toBeGreaterThan(Date.now());
  });
});

describe("a place or an id that was never given out", () => {
  test("is refused behind the end of a stream, while it comes and afterwards", async () => {
    const { send, end } = liveAnswer();
    const { ask, resume } = openProxy();
    const response = await ask();
    const id = idOf(response);
    send(piece("a"));
    const reader = readerOf(response);
    await reader.until("a");
    expect((await resume(id, 2)).status).toBe(400);
    send(finish + done);
    end();
    await reader.until("[DONE]");
    expect([(await resume(id, 3)).status, (await resume(id, 4)).status]).toEqual([204, 400]);
  });

  test.each(["x", "0".repeat(31), "G".repeat(32), "0".repeat(33)])("makes no object: %s", async (id) => {
    const names: string[] = [];
    const namespace = {
      idFromName: (name: string) => names.push(name),
      get: () => ({ fetch: async () => new Response(null, { status: 204 }) }),
    };
    const { resume, stop } = openProxy({ plugins: [streamLog(() => namespace)] });
    for (const answer of [await resume(id), await stop(id)]) {
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: "not_found" } });
    }
    expect(names).toEqual([]);
  });
});

describe("another user", () => {
  test("finds a stream as little as one that never was", async () => {
    wholeAnswer(events.join(""));
    const { ask, resume, stop } = openProxy();
    const response = await ask();
    await response.text();
    const id = idOf(response);
    const unknown = await resume("0".repeat(32));
    expect(unknown.status).toBe(404);
    const text = await unknown.text();
    expect(JSON.parse(text)).toMatchObject({ error: { code: "not_found" } });
    for (const answer of [await resume(id, 0, other), await stop(id, other)]) {
      expect(answer.status).toBe(404);
      expect(await answer.text()).toBe(text);
    }
    expect(await tablesIn(await objectOf("0".repeat(32)))).toEqual([]);
    expect((await resume(id)).status).toBe(200);
  });

  test("Another user with the same idempotency-key gets a stream of their own", async () => {
    wholeAnswer(events.join(""));
    const { ask } = openProxy();
    const ids = [
      idOf(await ask({ headers: { "idempotency-key": "k" } })),
      idOf(await ask({ headers: { ...other.headers, "idempotency-key": "k" } })),
    ];
    expect(ids[0]).not.toBe(ids[1]);
    expect(gateway.requests).toHaveLength(2);
  });
});

describe("the same idempotency-key", () => {
  test("twice is one question, during the answer and after it", async () => {
    const answer = liveAnswer();
    const { ask } = openProxy();
    const headers = { "idempotency-key": "twice" };
    const [one, two] = await Promise.all([ask({ headers }), ask({ headers })]);
    answer.send(piece("a"));
    const three = await ask({ headers });
    answer.send(finish + done);
    answer.end();
    const four = await ask({ headers });
    for (const each of [one, two, three, four]) {
      expect(idOf(each)).toBe(idOf(one));
      expect(await each.text()).toBe(numbered([piece("a"), finish, done]));
    }
    expect(gateway.requests).toHaveLength(1);
  });

  test("The same idempotency-key with another question is refused", async () => {
    wholeAnswer(events.join(""));
    const { ask } = openProxy();
    const headers = { "idempotency-key": "other" };
    await (await ask({ headers })).text();
    const response = await ask({ headers, body: { ...chat, stream: true, temperature: 1 } });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ error: { code: "idempotency_mismatch" } });
    expect(gateway.requests).toHaveLength(1);
  });

  test("sends the request again after a refusal, of which nothing is kept", async () => {
    gateway.answers(() => refusal(429, { "retry-after": "7" }, "slow down"));
    const { ask } = openProxy();
    const headers = { "idempotency-key": "refused" };
    const refused = await ask({ headers });
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("7");
    expect(refused.headers.has("x-stream-id")).toBe(false);
    expect(await refused.json()).toMatchObject({ error: { message: "slow down" } });
    const object = await objectOf(await derivedId("refused"));
    expect(await tablesIn(object)).toEqual([]);
    expect(await alarmOf(object)).toEqual([null]);
    wholeAnswer(events.join(""));
    expect(await (await ask({ headers })).text()).toBe(numbered(events));
  });

  test("does not send a request again whose outcome is unknown", async () => {
    gateway.answers(() => {
      // so late that the gateway may have worked
      later(6000);
      throw new Error(`lost the way to ${KEY}`);
    });
    const { ask, resume } = openProxy();
    const headers = { "idempotency-key": "unknown" };
    const client = new AbortController();
    const lost = await ask({ headers, signal: client.signal });
    expect(lost.status).toBe(502);
    const said = await lost.text();
    expect(JSON.parse(said)).toMatchObject({ error: { code: "upstream_cut", type: "proxy_error" } });
    expectNoKey(said);
    expect((await ask({ headers, signal: client.signal })).status).toBe(502);
    const id = await derivedId("unknown");
    await evicted(await objectOf(id), client);
    expect(errorCode(await (await ask({ headers })).text())).toBe("upstream_cut");
    expect(errorCode(await (await resume(id)).text())).toBe("upstream_cut");
    expect(gateway.requests).toHaveLength(1);
  });

  test.each(["", "a b", "k".repeat(256)])("has to be one: %j", async (key) => {
    wholeAnswer(events.join(""));
    expect((await openProxy().ask({ headers: { "idempotency-key": key } })).status).toBe(400);
    expect(gateway.requests).toHaveLength(0);
  });
});

describe("an answer that is no stream, or ends badly", () => {
  test("a cut is an event of the log, and its end", async () => {
    const answer = liveAnswer();
    const { ask, resume } = openProxy();
    const response = await ask();
    answer.send(`${piece("a")}data: {"choi`);
    answer.cut();
    const text = await response.text();
    expect(text).toContain(numbered([piece("a")]));
    expect(text).toContain("id: 2\nevent: error\n");
    expect(errorCode(text)).toBe("upstream_cut");
    expect(text).not.toContain("choi{");
    expect(await (await resume(idOf(response))).text()).toBe(text);
    expect((await resume(idOf(response), 2)).status).toBe(204);
    expect(await storedIn(await objectOf(idOf(response)), "stream")).toMatchObject([{ state: "error" }]);
  });

  test("an answer that quotes the key is neither kept nor passed on", async () => {
    wholeAnswer(piece("a") + piece(`my key is ${KEY}`) + finish + done);
    const response = await openProxy().ask();
    const text = await response.text();
    expect(errorCode(text)).toBe("upstream_type");
    expectNoKey(text);
    expectNoKey(JSON.stringify(await storedIn(await objectOf(idOf(response)), "events")));
  });

  test("an end without a finish is a cut", async () => {
    wholeAnswer(piece("a"));
    expect(errorCode(await (await openProxy().ask()).text())).toBe("upstream_cut");
  });

  test("an event without end is refused", async () => {
    gateway.answers(() => {
      const body = new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(1_000_000).fill(97)),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    expect(errorCode(await (await openProxy().ask()).text())).toBe("upstream_type");
  });

  test.each([
    [401, 502, "upstream_auth"],
    [400, 400, "x"],
    [500, 502, "upstream_error"],
    [302, 502, "upstream_redirect"],
  ])("the gateway's %i is told as without a log", async (status, told, code) => {
    gateway.answers(() => refusal(status, { location: "https://evil.example" }));
    const response = await openProxy().ask();
    expect(response.status).toBe(told);
    expect(response.headers.has("x-stream-id")).toBe(false);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test("JSON in the place of a stream is passed on, without an id", async () => {
    gateway.answers(() => Response.json({ id: "chat-1" }));
    const response = await openProxy().ask();
    expect(response.headers.has("x-stream-id")).toBe(false);
    expect(await response.json()).toEqual({ id: "chat-1" });
  });

  test("nothing in the place of a stream is an error", async () => {
    gateway.answers(() => new Response(null, { status: 204 }));
    const response = await openProxy().ask();
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_type" } });
  });

  test("the gateway's id of the request goes on to the client", async () => {
    liveAnswer();
    expect((await openProxy().ask()).headers.get("x-request-id")).toBe("gateway-1");
  });
});

describe("the routes", () => {
  test("a chat that does not stream goes its usual way", async () => {
    gateway.answers(() => refusal(500));
    const { ask } = openProxy({ fetch: async () => Response.json({ id: "usual" }) });
    for (const stream of [undefined, false]) {
      const response = await ask({ body: { ...chat, ...(stream === false && { stream }) } });
      expect(await response.json()).toEqual({ id: "usual" });
      expect(response.headers.has("x-stream-id")).toBe(false);
    }
    expect(gateway.requests).toHaveLength(0);
  });

  test("only chats are logged", async () => {
    const { ask } = openProxy({
      routes: ["images"],
      models: ["gamma-image-5-0-260128"],
      allowFields: ["stream"],
      fetch: async () => Response.json({ id: "usual" }),
    });
    const body = { model: "gamma-image-5-0-260128", prompt: "a bird", stream: true };
    const response = await ask({ path: "/v1/images/generations", body });
    expect(await response.json()).toEqual({ id: "usual" });
  });

  test.each(["-1", "1.5", "x", "1e3", "9".repeat(16)])(
    "a Last-Event-ID is one of the ids: not %s",
    async (seen) => {
      wholeAnswer(events.join(""));
      const { ask, resume } = openProxy();
      expect((await resume(idOf(await ask()), seen)).status).toBe(400);
    },
  );

  test("a page may read the id", async () => {
    wholeAnswer(events.join(""));
    const response = await openProxy().ask({ headers: { origin: "https://app.example" } });
    expect(response.headers.get("access-control-expose-headers")).toContain("x-stream-id");
    const { ask } = openProxy();
    const preflight = await ask({
      method: "OPTIONS",
      path: "/v1/chat/streams/x",
      headers: { origin: "https://app.example" },
    });
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, DELETE");
  });
});

async function derivedId(key: string): Promise<string> {
  const text = `Bearer user-token\n${key}`;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...hash.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Evicts an object that is at work: it is lost at once, with all that was only in its memory. */
async function lost(object: StreamObject): Promise<void> {
  const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("evicted");
  await runInDurableObject(object, abort).catch(() => {});
}

/** Restarts an object at rest. That would wait for those who still read, and so they leave first. */
async function evicted(object: StreamObject, client?: AbortController): Promise<void> {
  client?.abort();
  await evictDurableObject(object);
}

/** Lets the 25 seconds between two comments pass. */
async function beat(object: StreamObject): Promise<void> {
  await runInDurableObject(object, () => void vi.advanceTimersByTime(25_000));
}

function alarmOf(object: StreamObject): Promise<[number | null]> {
  return runInDurableObject(object, async (_, { storage }) => [await storage.getAlarm()]);
}

function tablesIn(object: StreamObject): Promise<unknown[]> {
  return runInDurableObject(object, (_, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
  );
}
