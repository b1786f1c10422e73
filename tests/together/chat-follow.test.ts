import {
  type ClientEvent,
  createClient,
  resumeChat,
  streamChat,
  streamResumption,
  toResponse,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatResumeOptions } from "../../packages/core/src/chat/resume.js";
import { startDurableProxy } from "../../packages/durable/test/support/workerd.js";
import { KEY } from "../../packages/worker-proxy/test/support/key.js";
import { chunk, done, finish, type Recorded } from "../../packages/worker-proxy/test/support/upstream.js";
import { createTestClock } from "../support/test-clock.ts";

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
beforeAll(async () => {
  proxy = await startDurableProxy();
});
afterAll(() => proxy.close());

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

/** A gateway that has begun its response; the test writes the rest. */
function begun(first: string) {
  let send!: (text: string) => void;
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(first);
    send = (text) => response.write(text);
  });
  return { send: (text: string) => send(text) };
}

/** A device of a user. A test can cut its connections, like a tunnel. */
function device(user = "user-1") {
  const requests: Request[] = [];
  const connections: AbortController[] = [];
  const events: ClientEvent[] = [];
  const client = createClient({
    baseURL: proxy.address,
    resume: streamResumption(),
    clock: createTestClock(50),
    headers: { authorization: user },
    onEvent: (event) => events.push(event),
    fetch(request) {
      requests.push(request);
      const connection = new AbortController();
      connections.push(connection);
      return fetch(request, { signal: AbortSignal.any([request.signal, connection.signal]) });
    },
  });
  const follow = (id: string, options?: ChatResumeOptions) => reading(resumeChat(client, id, options));
  return { client, requests, events, follow, cut: () => connections.at(-1)?.abort() };
}

/** Reads a stream piece by piece. */
function reading(stream: ReturnType<typeof resumeChat>) {
  const deltas = stream[Symbol.asyncIterator]();
  /** Reads until the text so far is `content`. */
  const until = async (content: string) => {
    while (stream.snapshot.content !== content) {
      const { done: isOver } = await deltas.next();
      if (isOver) throw new Error(`the response ended as ${stream.snapshot.content}`);
    }
  };
  return { stream, until };
}

/** Begins a response, and waits for its first piece. */
async function began(first: string, { client } = device()) {
  const { send } = begun(chunk(first));
  const origin = reading(streamChat(client, question));
  await origin.until(first);
  const { streamId: id = "" } = origin.stream;
  return { ...origin, send, id, gateway: proxy.upstream.requests[0] as Recorded };
}

const rest = chunk("two ") + chunk("three") + finish + done;

describe("resumeChat", () => {
  test("reads a response from its start and then live on another device, and the gateway gets one request", async () => {
    const { stream, id, send } = await began("one ");
    const { follow, requests } = device();
    const follower = follow(id);
    await follower.until("one ");
    send(rest);
    const { timing: _, ...turn } = await stream.result();
    expect(await follower.stream.result()).toMatchObject(turn);
    expect(follower.stream).toMatchObject({ streamId: id, snapshot: { content: "one two three" } });
    expect(proxy.upstream.requests).toHaveLength(1);
    expect(requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
      `GET /v1/chat/streams/${id}`,
    ]);
    expect(requests[0]?.headers.has("idempotency-key")).toBe(false);
  });

  test("reads a response that has ended, as often as it is requested", async () => {
    const { stream, id, send } = await began("one ");
    send(rest);
    await stream.result();
    const { client } = device();
    for (const follower of [resumeChat(client, id), resumeChat(client, id)])
      expect(await follower.result()).toMatchObject({
        outcome: "complete",
        message: { content: "one two three" },
      });
  });

  test("reads a response of the emulator, whose journal has one request", async () => {
    const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
    proxy.upstream.respondWith(async (response, { method, url, body }) => {
      const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
      const reply = await emulator.fetch(new Request(`http://gateway${url}`, { method, body, headers }));
      response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
    });
    const { client } = device();
    const stream = streamChat(client, question);
    const turn = await stream.result();
    const followed = await resumeChat(device().client, stream.streamId ?? "").result();
    expect(followed.message).toEqual(turn.message);
    expect(followed.usage).toEqual(turn.usage);
    expect(emulator.requests).toHaveLength(1);
  });

  test("continues after a lost connection for two subscribers at once, and each gets every piece once", async () => {
    const { id, send, stream } = await began("one ");
    const [first, second] = [device(), device()];
    const followers = [first.follow(id), second.follow(id)];
    for (const { until } of followers) await until("one ");
    first.cut();
    send(chunk("two "));
    for (const { until } of followers) await until("one two ");
    second.cut();
    send(chunk("three") + finish + done);
    for (const { stream } of followers)
      expect(await stream.result()).toMatchObject({ message: { content: "one two three" } });
    await stream.result();
    expect(proxy.upstream.requests).toHaveLength(1);
  });

  test("leaves the response alone by abort(), its signal and its limit", async () => {
    const { id, send, stream } = await began("one ");
    const { follow, requests } = device();
    const aborted = new AbortController();
    const [byVerb, bySignal] = [follow(id), follow(id, { signal: aborted.signal })];
    for (const { until } of [byVerb, bySignal]) await until("one ");
    const late = follow(id, { timeout: { totalMs: 20 } }).stream;
    await expect(late.result()).rejects.toMatchObject({ name: "TimeoutError", phase: "total" });
    byVerb.stream.abort();
    aborted.abort();
    for (const { stream } of [byVerb, bySignal])
      await expect(stream.result()).rejects.toMatchObject({ name: "AbortError" });
    expect(byVerb.stream.streamId).toBe(id);
    send(rest);
    expect(await stream.result()).toMatchObject({ outcome: "complete" });
    expect(requests.map(({ method }) => method)).toEqual(["GET", "GET", "GET"]);
  });

  test("stops the response at the gateway by abort(), with stopOnAbort", async () => {
    const { id, gateway, stream } = await began("one ");
    const { stream: follower, until } = device().follow(id, { stopOnAbort: true });
    await until("one ");
    follower.abort();
    expect(await gateway.hungUp).toBe("hung up");
    await expect(stream.result()).rejects.toMatchObject({ name: "StreamError", code: "stream_stopped" });
  });

  test.each([
    ["that nobody gave", "0123456789", "user-1"],
    ["of another user's response", undefined, "user-2"],
  ])("rejects an id %s with a clear error", async (_, id, user) => {
    const { id: known, stream } = await began("one ");
    const { client, events } = device(user);
    const error = await resumeChat(client, id ?? known)
      .result()
      .catch((error) => error);
    expect(error).toMatchObject({ name: "APIError", status: 404, billing: "none" });
    expect(error.message).toContain("stores no response under this id");
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: "not-sent", error: { name: "APIError" } });
    stream.abort();
  });

  test.each(["", " ", "../v1", "a/b", "ä", "a".repeat(129), undefined as unknown as string])(
    "rejects the id %j before anything is sent",
    async (id) => {
      const { client, requests } = device();
      const stream = resumeChat(client, id);
      await expect(stream.result()).rejects.toMatchObject({
        name: "ValidationError",
        issues: [{ path: "streamId", rule: "chat.stream-id" }],
      });
      expect(requests).toEqual([]);
    },
  );

  test("names the response in its end event, so that usage is counted once", async () => {
    const { id, send, stream } = await began("one ");
    send(chunk("two") + finish + done);
    await stream.result();
    const { client, events } = device();
    await resumeChat(client, id).result();
    expect(events.at(-1)).toMatchObject({ type: "end", kind: "chat", path: `/v1/chat/streams/${id}` });
  });

  test("becomes an HTTP response that forwards the stream", async () => {
    const { id, send, stream } = await began("one ");
    send(rest);
    await stream.result();
    const { client } = device();
    const response = await toResponse(resumeChat(client, id));
    expect(await response.text()).toContain("three");
    expect((await toResponse(resumeChat(client, "0123456789"))).status).toBe(404);
  });
});
