import { resumableStreams } from "@sluice/durable";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import { expectNoKey, KEY } from "../../worker-proxy/test/support/key.js";
import {
  computeStreamId,
  done,
  errorCode,
  finish,
  numbered,
  openGateway,
  openStoredProxy,
  piece,
  readCode,
  readStreamId,
  silenceLog,
} from "./support/stored-proxy.js";

/** Enough for several writes. */
const events = [...Array.from({ length: 25 }, (_, nth) => piece(`part ${nth}, `)), finish, done];
const keyed = (key: string) => ({ headers: { "idempotency-key": key } });

describe("a stored stream", () => {
  test("numbers its events, and has its own id", async () => {
    const gateway = openGateway();
    gateway.streams(events.join(""));
    const response = await openStoredProxy({ gateway }).startStream();
    expect(response.status).toBe(200);
    readStreamId(response);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-request-id")).toBe("gateway-1");
    expect(await response.text()).toBe(numbered(events));
    const [request] = gateway.requests;
    expect(request?.url).toBe("https://gateway.example/v1/chat/completions");
    expect(request?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
    expect(await request?.json()).toEqual({ ...chat, stream: true });
  });

  test("resumes at every event after its end, and has nothing behind the last one", async () => {
    const gateway = openGateway();
    gateway.streams(events.join(""));
    const { startStream, resume } = openStoredProxy({ gateway });
    const response = await startStream();
    await response.text();
    const id = readStreamId(response);
    expect(await (await resume(id)).text()).toBe(numbered(events));
    for (let seen = 0; seen < events.length; seen += 1)
      expect(await (await resume(id, seen)).text()).toBe(numbered(events.slice(seen), seen + 1));
    expect((await resume(id, events.length)).status).toBe(204);
    expect((await resume(id, events.length + 1)).status).toBe(400);
    expect(gateway.requests).toHaveLength(1);
  });

  test("resumes at every event while it comes, and goes on", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume } = openStoredProxy({ gateway });
    const first = await startStream();
    const id = readStreamId(first);
    for (const [nth, event] of events.slice(0, -2).entries()) {
      live.send(event);
      const resumed = createTextReader(await resume(id, nth));
      expect(await resumed.until(`part ${nth}, `)).toBe(numbered([event], nth + 1));
      await resumed.leave();
    }
    const last = await resume(id, 7);
    live.send(finish + done);
    live.end();
    expect(await last.text()).toBe(numbered(events.slice(7), 8));
    expect(await first.text()).toBe(numbered(events));
    expect(gateway.requests).toHaveLength(1);
  });

  test("refuses an event id behind its last one while it comes", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume } = openStoredProxy({ gateway });
    const response = await startStream();
    live.send(piece("a"));
    await createTextReader(response).until("a");
    const refused = await resume(readStreamId(response), 2);
    expect([refused.status, await readCode(refused)]).toEqual([400, "invalid_request"]);
    live.end();
  });

  test("is read by eight at most, and by another one once one of them has left", async () => {
    const gateway = openGateway();
    gateway.streamsLive();
    const { startStream, resume, stop } = openStoredProxy({ gateway });
    const id = readStreamId(await startStream());
    const client = new AbortController();
    for (let nth = 2; nth <= 7; nth += 1) await resume(id);
    expect((await resume(id, 0, { signal: client.signal })).status).toBe(200);
    const ninth = await resume(id);
    expect([ninth.status, await readCode(ninth)]).toEqual([429, "too_many_readers"]);
    client.abort();
    await expect.poll(async () => (await resume(id)).status).toBe(200);
    expect((await resume(id)).status).toBe(429);
    await stop(id);
  });

  test("stores events of many lines, and an event of a megabyte, byte by byte (case 68)", async () => {
    const lines = Array.from({ length: 10_000 }, (_, nth) => `data: ${nth}${"x".repeat(100)}\n`);
    const whole = [`${lines.join("")}\n`, finish, done];
    const gateway = openGateway();
    gateway.streams(whole.join(""));
    const { startStream, resume } = openStoredProxy({ gateway });
    const response = await startStream();
    expect((await response.text()) === numbered(whole)).toBe(true);
    expect((await (await resume(readStreamId(response))).text()) === numbered(whole)).toBe(true);
  });

  test("streams beyond `maxBytes` to its readers; the stored part ends as interrupted", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume } = openStoredProxy({
      gateway,
      plugins: [resumableStreams({ maxBytes: 350_000 })],
    });
    const response = await startStream();
    const reader = createTextReader(response);
    for (let nth = 1; nth <= 6; nth += 1) {
      live.send(piece("y".repeat(100_000)));
      await reader.until(`id: ${nth}\n`);
    }
    live.send(finish + done);
    live.end();
    expect(await reader.until("[DONE]")).toContain(numbered([finish, done], 7));
    await reader.until("nothing more");
    await expect
      .poll(async () => errorCode(await (await resume(readStreamId(response), 3)).text()))
      .toBe("stream_interrupted");
    const again = await (await resume(readStreamId(response))).text();
    expect(again).toContain("id: 3\n");
    expect(again).not.toContain("id: 4\n");
  });

  test("stops reading from the gateway while too many bytes wait to be stored", async () => {
    const gateway = openGateway();
    const text = piece("z".repeat(200_000));
    let pulls = 0;
    gateway.responds(() => {
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        pulls += 1;
        controller.enqueue(new TextEncoder().encode(pulls < 30 ? text : finish + done));
        if (pulls === 30) controller.close();
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), {
        headers: { "content-type": "text/event-stream" },
      });
    });
    const { startStream } = openStoredProxy({ gateway });
    expect(await (await startStream()).text()).toContain("[DONE]");
    expect(pulls).toBe(30);
  });
});

describe("readers of one stream", () => {
  test("get a comment after 25 seconds without an event", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const response = await openStoredProxy({ gateway }).startStream();
    const reader = createTextReader(response);
    for (const wanted of [":\n\n", ":\n\n:\n\n"]) {
      vi.advanceTimersByTime(25_000);
      expect(await reader.until(wanted)).toBe(wanted);
    }
    live.send(finish + done);
    live.end();
    expect(await reader.until("[DONE]")).toContain(numbered([finish, done]));
    await reader.leave();
  });

  test("are disconnected if they read nothing for two heartbeats, and can resume at their position", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume } = openStoredProxy({ gateway });
    const slow = await startStream();
    const long = Array.from({ length: 15 }, (_, nth) => piece(`${nth}${"z".repeat(100_000)}`));
    for (const event of long) live.send(event);
    const quick = createTextReader(await resume(readStreamId(slow)));
    await quick.until("id: 15\n");
    const read = quick.until("[DONE]");
    for (let beats = 0; beats < 3; beats += 1) {
      vi.advanceTimersByTime(25_000);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    live.send(finish + done);
    live.end();
    const begun = await slow.text();
    expect(begun).not.toContain("[DONE]");
    const seen = Number([...begun.matchAll(/^id: (\d+)\n.*\n\n/gm)].at(-1)?.[1] ?? 0);
    expect(seen).toBeLessThan(15);
    expect((await (await resume(readStreamId(slow), seen)).text()).replaceAll(":\n\n", "")).toBe(
      numbered([...long, finish, done].slice(seen), seen + 1),
    );
    expect((await read).replaceAll(":\n\n", "")).toBe(numbered([...long, finish, done]));
    await quick.leave();
  });
});

describe("a client that leaves", () => {
  test("does not stop the stream", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume } = openStoredProxy({ gateway });
    const client = new AbortController();
    const response = await startStream({ signal: client.signal });
    live.send(piece("a"));
    await createTextReader(response).until("a");
    client.abort();
    const rest = await resume(readStreamId(response), 1);
    expect(live.hasLeft).toBe(false);
    live.send(finish + done);
    live.end();
    expect(await rest.text()).toBe(numbered([finish, done], 2));
  });

  test("stops the stream with DELETE, for all readers and at the gateway", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume, stop } = openStoredProxy({ gateway });
    const response = await startStream();
    const id = readStreamId(response);
    live.send(piece("a"));
    const reader = createTextReader(response);
    await reader.until("a");
    expect((await stop(id)).status).toBe(204);
    const text = await reader.until("never");
    expect(text.startsWith(numbered([piece("a")]))).toBe(true);
    expect(errorCode(text)).toBe("stream_stopped");
    expect(await (await resume(id)).text()).toBe(text);
    expect((await resume(id, 2)).status).toBe(204);
    expect((await stop(id)).status).toBe(204);
    expect(live.hasLeft).toBe(true);
  });

  test("stops a stream before the gateway has responded, too", async () => {
    const gateway = openGateway();
    gateway.hangs();
    const { startStream, stop } = openStoredProxy({ gateway });
    const pending = startStream(keyed("early"));
    await expect.poll(() => gateway.requests.length).toBe(1);
    expect((await stop(await computeStreamId("early"))).status).toBe(204);
    expect(errorCode(await (await pending).text())).toBe("stream_stopped");
    expect(gateway.requests[0]?.signal.aborted).toBe(true);
  });

  test("stops the stream after `idleTimeoutMs` without a reader", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume, jobs } = openStoredProxy({
      gateway,
      plugins: [resumableStreams({ idleTimeoutMs: 50 })],
    });
    const client = new AbortController();
    const response = await startStream({ signal: client.signal });
    live.send(piece("a"));
    await createTextReader(response).until("a");
    client.abort();
    await expect.poll(() => live.hasLeft).toBe(true);
    await expect.poll(() => jobs).toMatchObject([{ outcome: "abandoned", code: "stream_stopped" }]);
    expect(errorCode(await (await resume(readStreamId(response))).text())).toBe("stream_stopped");
  });

  test("stops a request without a response, too", async () => {
    const gateway = openGateway();
    gateway.hangs();
    const { startStream, jobs } = openStoredProxy({
      gateway,
      plugins: [resumableStreams({ idleTimeoutMs: 50 })],
    });
    const client = new AbortController();
    const leaving = startStream({ signal: client.signal });
    await expect.poll(() => gateway.requests.length).toBe(1);
    client.abort();
    expect((await leaving).status).toBe(408);
    await expect.poll(() => jobs).toMatchObject([{ outcome: "abandoned" }]);
    expect(gateway.requests[0]?.signal.aborted).toBe(true);
  });
});

describe("a request that comes again with its key", () => {
  test("gets the stream of the first one, while it comes and later", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, requests } = openStoredProxy({ gateway });
    const first = await startStream(keyed("one"));
    live.send(piece("a"));
    const second = await startStream(keyed("one"));
    expect(readStreamId(second)).toBe(readStreamId(first));
    live.send(finish + done);
    live.end();
    const whole = numbered([piece("a"), finish, done]);
    for (const response of [first, second, await startStream(keyed("one"))])
      expect(await response.text()).toBe(whole);
    expect(gateway.requests).toHaveLength(1);
    // two of them end at the same time, in any order
    const replayed = () => requests.map(({ isReplay = false }) => isReplay).sort();
    await expect.poll(replayed).toEqual([false, true, true]);
  });

  test("finds nothing of another user, and neither does the id of a stream", async () => {
    const gateway = openGateway();
    gateway.streams(events.join(""));
    const { startStream, resume, stop } = openStoredProxy({ gateway });
    const id = readStreamId(await startStream(keyed("one")));
    const other = { headers: { ...keyed("one").headers, authorization: "Bearer other-token" } };
    expect(readStreamId(await startStream(other))).not.toBe(id);
    expect(gateway.requests).toHaveLength(2);
    expect((await resume(id, 0, other)).status).toBe(404);
    expect((await stop(id, other)).status).toBe(404);
  });

  test("is sent again after a refusal, of which nothing is stored", async () => {
    const gateway = openGateway(() =>
      Response.json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after": "7" } }),
    );
    const { startStream } = openStoredProxy({ gateway });
    const refused = await startStream(keyed("refused"));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(refused.headers.has("x-stream-id")).toBe(false);
    expect(await refused.json()).toMatchObject({ error: { message: "slow down" } });
    gateway.streams(events.join(""));
    expect(await (await startStream(keyed("refused"))).text()).toBe(numbered(events));
  });

  test("is not sent again if the gateway's outcome is unknown", async () => {
    silenceLog();
    const gateway = openGateway(() => Response.json({ error: {} }, { status: 504 }));
    const { startStream, resume } = openStoredProxy({ gateway });
    for (let nth = 0; nth < 2; nth += 1) expect((await startStream(keyed("unknown"))).status).toBe(502);
    expect(errorCode(await (await resume(await computeStreamId("unknown"))).text())).toBe("upstream_error");
    expect(gateway.requests).toHaveLength(1);
  });

  test("gets the JSON that the gateway sent instead of a stream, and the request is sent once", async () => {
    const gateway = openGateway(() => Response.json({ id: "chat-1" }));
    const { startStream, resume } = openStoredProxy({ gateway });
    for (let nth = 0; nth < 2; nth += 1) {
      const response = await startStream(keyed("json"));
      expect(response.headers.has("x-stream-id")).toBe(false);
      expect(await response.json()).toEqual({ id: "chat-1" });
    }
    expect(gateway.requests).toHaveLength(1);
    expect((await resume(await computeStreamId("json"))).status).toBe(404);
  });
});

describe("a response that ends badly", () => {
  test("ends with an error event if the connection to the gateway breaks off", async () => {
    const gateway = openGateway();
    const live = gateway.streamsLive();
    const { startStream, resume } = openStoredProxy({ gateway });
    const response = await startStream();
    live.send(`${piece("a")}data: {"choi`);
    await new Promise((resolve) => setTimeout(resolve));
    live.cut();
    const text = await response.text();
    expect(text).toContain(`${numbered([piece("a")])}id: 2\nevent: error\n`);
    expect(errorCode(text)).toBe("upstream_cut");
    expect(await (await resume(readStreamId(response))).text()).toBe(text);
    expect((await resume(readStreamId(response), 2)).status).toBe(204);
  });

  test("is neither stored nor passed on if it quotes the key", async () => {
    const gateway = openGateway();
    gateway.streams(piece("a") + piece(`my key is ${KEY}`) + finish + done);
    const { startStream, resume } = openStoredProxy({ gateway });
    const response = await startStream();
    const text = await response.text();
    expect(errorCode(text)).toBe("upstream_type");
    expectNoKey(text);
    expectNoKey(await (await resume(readStreamId(response))).text());
  });

  test.each([
    [401, 502, "upstream_auth"],
    [400, 400, "x"],
    [500, 502, "upstream_error"],
    [302, 502, "upstream_redirect"],
  ])("is the same refusal as without this plugin: %i", async (status, expected, code) => {
    silenceLog();
    const init = { status, headers: { location: "https://evil.example" } };
    const gateway = openGateway(() => Response.json({ error: { message: "no", code: "x" } }, init));
    const response = await openStoredProxy({ gateway }).startStream();
    expect([response.status, await readCode(response)]).toEqual([expected, code]);
    expect(response.headers.has("x-stream-id")).toBe(false);
  });
});

describe("the streams of a user (case 114)", () => {
  test("count against the limit while the gateway streams, even if no client reads them", async () => {
    const gateway = openGateway();
    gateway.responds(({ signal }) => {
      const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        controller.enqueue(new TextEncoder().encode(piece("a")));
        for (const left of [signal, gateway.closing])
          left.addEventListener("abort", () => controller.error(left.reason));
      };
      return new Response(new ReadableStream({ start }), {
        headers: { "content-type": "text/event-stream" },
      });
    });
    const { startStream, stop } = openStoredProxy({ gateway, limits: { maxStreamsPerUser: 3 } });
    const ids: string[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const client = new AbortController();
      const response = await startStream({ ...keyed(`${nth}`), signal: client.signal });
      await createTextReader(response).until('"a"');
      client.abort();
      ids.push(readStreamId(response));
    }
    const refused = await startStream();
    expect([refused.status, await readCode(refused)]).toEqual([429, "too_many_streams"]);
    // an open stream does not need another slot
    expect((await startStream(keyed("0"))).status).toBe(200);
    expect(gateway.requests).toHaveLength(3);
    expect((await startStream({ headers: { authorization: "Bearer other-token" } })).status).toBe(200);
    for (const id of ids) await stop(id);
    await expect.poll(async () => (await startStream()).status).toBe(200);
  });

  test("are limited, and an event reports the deletion of the oldest", async () => {
    const gateway = openGateway();
    gateway.streams(events.join(""));
    const { startStream, resume, jobs } = openStoredProxy({
      gateway,
      plugins: [resumableStreams({ maxPerUser: 2 })],
    });
    const ids: string[] = [];
    for (let nth = 1; nth <= 3; nth += 1) {
      const response = await startStream();
      await response.text();
      ids.push(readStreamId(response));
      await expect.poll(() => jobs.filter(({ outcome }) => outcome === "complete").length).toBe(nth);
      // only the time distinguishes their ends
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(jobs.filter(({ outcome }) => outcome === "dropped")).toMatchObject([
      { job: "chat", id: ids[0], code: "too_many_stored" },
    ]);
    const read = async (id: string) => {
      const { status, body } = await resume(id);
      await body?.cancel();
      return status;
    };
    const statuses = await Promise.all(ids.map(read));
    expect(statuses).toEqual([404, 200, 200]);
  });
});
