import {
  type Client,
  type ClientEvent,
  completeChat,
  createClient,
  retryNow,
  streamChat,
  subscribeToEvents,
} from "@sluice/core";
import { describe, expect, test } from "vitest";
import { catchError, DONE, frame, question, stoppedClock } from "./support/gateway.js";
import { serveStored } from "./support/stored-streams.js";

/* `retryNow` ends the wait before the next attempt early. The test clock does not advance. */

const busy = (headers = {}) =>
  Response.json({ error: { message: "later", code: "rate_limited" } }, { status: 429, headers });

/** A gateway that refuses the first requests, and then responds. */
function createGateway(...refusals: Response[]) {
  const sent: string[] = [];
  const clock = stoppedClock();
  const client = createClient({
    baseURL: "https://gateway.test",
    clock,
    retry: { limit: 3, maxRetryAfterMs: 30_000 },
    fetch: async (request) => {
      sent.push(request.url);
      return (
        refusals.shift() ??
        Response.json({
          id: "chat-1",
          object: "chat.completion",
          created: 1,
          model: question.model,
          choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
        })
      );
    },
  });
  return { client, clock, sent };
}

/** Resolves with the next `retry` event: its wait has begun. */
function waitForRetry(client: Client): Promise<Extract<ClientEvent, { type: "retry" }>> {
  return new Promise((resolve) => {
    const unsubscribe = subscribeToEvents(client, (event) => {
      if (event.type !== "retry") return;
      unsubscribe();
      resolve(event);
    });
  });
}

describe("`retryNow`", () => {
  test("sends the next attempt of a call at once, and leaves no timer", async () => {
    const { client, clock, sent } = createGateway(busy({ "retry-after": "20" }));
    const waiting = waitForRetry(client);
    const result = completeChat(client, question);
    const { callId, delayMs } = await waiting;
    expect(delayMs).toBe(20_000);
    expect(retryNow(client, callId)).toBe(true);
    expect((await result).message.content).toBe("Hi");
    expect(sent).toHaveLength(2);
    expect([clock.now(), clock.sleeping()]).toEqual([0, 0]);
  });

  test("ends the waits of one call, or of all", async () => {
    const { client, sent } = createGateway(busy({ "retry-after": "20" }), busy({ "retry-after": "20" }));
    const first = waitForRetry(client);
    const one = completeChat(client, question);
    const { callId } = await first;
    const second = waitForRetry(client);
    const other = completeChat(client, question);
    await second;
    retryNow(client, callId);
    await one;
    expect(sent).toHaveLength(3);
    expect(retryNow(client)).toBe(true);
    await other;
    expect(sent).toHaveLength(4);
  });

  test("returns false if no call waits: before, for another call, twice, and afterwards", async () => {
    const { client } = createGateway(busy());
    expect(retryNow(client)).toBe(false);
    const waiting = waitForRetry(client);
    const result = completeChat(client, question);
    const { callId } = await waiting;
    expect(retryNow(client, "another")).toBe(false);
    expect([retryNow(client, callId), retryNow(client, callId)]).toEqual([true, false]);
    await result;
    expect(retryNow(client, callId)).toBe(false);
  });

  test("allows no attempt beyond the limit, and accepts a repeated rejection", async () => {
    const { client, clock, sent } = createGateway(busy(), busy(), busy(), busy({ "retry-after": "20" }));
    const result = catchError(completeChat(client, question));
    for (let nth = 0; nth < 3; nth += 1) {
      await waitForRetry(client);
      retryNow(client);
    }
    expect(await result).toMatchObject({ name: "APIError", status: 429 });
    expect(sent).toHaveLength(4);
    expect(clock.sleeping()).toBe(0);
  });

  test("leaves a stopped wait to the caller's signal", async () => {
    const { client, clock, sent } = createGateway(busy());
    const stop = new AbortController();
    const waiting = waitForRetry(client);
    const result = catchError(completeChat(client, question, { signal: stop.signal }));
    await waiting;
    stop.abort(new Error("stopped"));
    expect(retryNow(client)).toBe(true);
    expect(await result).toMatchObject({ message: "stopped" });
    expect(sent).toHaveLength(1);
    expect(clock.sleeping()).toBe(0);
  });

  test("continues a stored response at once", async () => {
    const clock = stoppedClock();
    const events = [frame({ content: "Hi" }), frame({ content: " there" }), frame({}, "stop"), DONE];
    const { client, requests } = serveStored(
      events,
      [{ bytes: 0, ending: "drop" }, new TypeError("fetch failed"), new TypeError("fetch failed")],
      { clock },
    );
    const isRead = streamChat(client, question).result();
    // a second failure in a row has a wait
    await waitForRetry(client);
    retryNow(client);
    await waitForRetry(client);
    retryNow(client);
    expect((await isRead).message.content).toBe("Hi there");
    expect(requests).toHaveLength(4);
    expect(clock.now()).toBe(0);
  });
});
