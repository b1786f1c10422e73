import { resumeChat, streamChat, streamResumption } from "@sluice/core";
import { beforeEach, describe, expect, test } from "vitest";
import { catchError, DONE, frame, question, stoppedClock } from "./support/gateway.js";
import { addIds, serveStored } from "./support/stored-streams.js";

const events = [frame({ content: "one " }), frame({ content: "two" }), frame({}, "stop"), DONE];
const createRefusal = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: "not now" } }, { status, headers });
const page = () => new Response("<p>Sign in</p>", { headers: { "content-type": "text/html" } });
const firstEvent = new TextEncoder().encode(addIds(events.slice(0, 1))).length;

function resumeStored(connections: Parameters<typeof serveStored>[1]) {
  const clock = stoppedClock();
  const proxy = serveStored(events, connections, { clock });
  const stream = resumeChat(proxy.client, "s-1");
  const read = () => clock.advanceUntil(stream.result(), 1000);
  return { ...proxy, clock, stream, read };
}

describe("a stored response that a page resumes", () => {
  test.each([
    ["a failed connection", () => new TypeError("fetch failed")],
    ["a busy proxy", () => createRefusal(503)],
    ["a session that is renewed", () => createRefusal(401)],
    ["another server, which does not know it", () => createRefusal(404)],
    ["a page in the place of a stream", page],
  ])("is read after %s, which came once", async (_, respond) => {
    const { read, attempts } = resumeStored([respond()]);
    expect((await read()).message.content).toBe("one two");
    expect(attempts()).toEqual(["GET", "GET"]);
  });

  test("continues after its last event when the connection broke", async () => {
    const { read, attempts } = resumeStored([{ bytes: firstEvent, ending: "drop" }]);
    expect((await read()).message.content).toBe("one two");
    expect(attempts()).toEqual(["GET", "GET after 1"]);
  });

  test("ends as unknown after half a minute of 404s from the proxy", async () => {
    const { clock, stream, attempts } = resumeStored(Array.from({ length: 5 }, () => createRefusal(404)));
    const error = await clock.advanceUntil(catchError(stream.result()), 1000);
    expect(error).toMatchObject({ name: "APIError", status: 404 });
    expect(attempts()).toHaveLength(5);
    expect(stream.streamId).toBeUndefined();
  });

  test.each([
    ["the proxy can't be reached", () => new TypeError("fetch failed"), "ConnectionError"],
    ["the proxy is busy, and says a day", () => createRefusal(503, { "retry-after": "86400" }), "APIError"],
    ["the proxy refuses the user", () => createRefusal(403), "APIError"],
  ])("ends as truncated and keeps its id if %s", async (_, respond, cause) => {
    const { clock, stream } = resumeStored(Array.from({ length: 5 }, () => respond()));
    const error = await clock.advanceUntil(catchError(stream.result()), 1000);
    expect(error).toMatchObject({ name: "StreamError", reason: "truncated", cause: { name: cause } });
    expect(stream.streamId).toBe("s-1");
  });

  test("ends at its limit if the proxy never responds", async () => {
    const clock = stoppedClock();
    const { client } = serveStored(events, [], { clock, fetch: () => new Promise(() => {}) });
    const stream = resumeChat(client, "s-1", { timeout: { totalMs: 5000 } });
    const error = await clock.advanceUntil(catchError(stream.result()), 1000);
    expect(error).toMatchObject({ name: "TimeoutError", phase: "total" });
  });
});

describe("a client without `resume`", () => {
  const plain = (connections: Parameters<typeof serveStored>[1]) =>
    serveStored(events, connections, {
      resume: undefined,
      onEvent: (event) => event.type === "warning" && warned.push(event.issue.path),
    });
  let warned: string[];
  beforeEach(() => {
    warned = [];
  });

  test.each(["end", "drop"] as const)(
    "ends a stored response after a lost connection (%s), and has its id",
    async (ending) => {
      const { client, attempts } = plain([{ bytes: firstEvent, ending }]);
      const stream = streamChat(client, question);
      const error = await catchError(stream.result());
      expect(error).toMatchObject({ reason: "truncated", partial: { content: "one " } });
      expect(stream.streamId).toBe("s-1");
      expect(attempts()).toEqual(["POST"]);
      expect((await resumeChat(client, "s-1").result()).message.content).toBe("one two");
    },
  );

  test("sends no request when its response is stopped, and warns in development", async () => {
    const { client, attempts } = plain([{ bytes: firstEvent, ending: "silence" }]);
    for await (const _ of streamChat(client, question)) break;
    expect(attempts()).toEqual(["POST"]);
    expect(warned).toEqual(["createClient.resume"]);
  });
});

test("`maxAttempts` limits the requests in a row without new events", async () => {
  const clock = stoppedClock();
  const nothing = { bytes: 0, ending: "drop" } as const;
  const cuts = [{ bytes: firstEvent, ending: "drop" } as const, ...Array.from({ length: 9 }, () => nothing)];
  const { client, attempts } = serveStored(events, cuts, {
    clock,
    resume: streamResumption({ maxAttempts: 2 }),
  });
  const error = await clock.advanceUntil(catchError(streamChat(client, question).result()), 1000);
  expect(error).toMatchObject({ name: "StreamError", reason: "truncated" });
  expect(attempts()).toEqual(["POST", "GET after 1", "GET after 1"]);
});
