import { afterEach, describe, expect, test, vi } from "vitest";
import { lose, restoreModules } from "./support/lost-code.js";

/* A page loads some code on demand, which fails if the network is lost, or after a new release of the app. */

afterEach(() => {
  restoreModules();
  vi.unstubAllGlobals();
});

/** Creates a client without these modules, whose gateway is `respond`. */
async function importWithout(
  modules: readonly string[],
  respond: (request: Request) => Response | Promise<Response>,
) {
  lose(...modules.map((module) => `core/src/${module}`));
  const core = await import("@sluice/core");
  const requests: string[] = [];
  const client = core.createClient({
    baseURL: "https://gateway.test",
    random: () => 0,
    onEvent: () => {},
    fetch: async (request) => {
      requests.push(request.method);
      return respond(request);
    },
  });
  return { ...core, client, requests };
}

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] } as const;

const writeFrames = (data: readonly string[]) => data.map((text) => `data: ${text}\n\n`).join("");
const text = '{"choices":[{"index":0,"delta":{"content":"Hi"}}]}';
const stop = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
const usage = '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}';
const call =
  '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"pay","arguments":"{}"}}]}}]}';

describe("a request whose code for failures is lost", () => {
  test.each([
    ["connect ECONNREFUSED 127.0.0.1:80", "none"],
    ["getaddrinfo ENOTFOUND gateway.test", "none"],
    ["Connection refused", "none"],
    ["connect EHOSTUNREACH", "none"],
    ["connect ENETUNREACH", "none"],
    ["Failed to fetch", "maybe"],
  ])("A failure of %j is %s", async (message, billing) => {
    const { completeChat, client } = await importWithout(["transport/failures"], () =>
      Promise.reject(new TypeError("fetch failed", { cause: new Error(message) })),
    );
    await expect(completeChat(client, question)).rejects.toMatchObject({ name: "ConnectionError", billing });
  });

  const fail = () => Promise.reject(new TypeError("Failed to fetch"));
  const respond = async () => new Response(writeFrames([text, stop, "[DONE]"]));

  test("A call loads that code beside its request, so that a failure is retried", async () => {
    let lost: (cause: unknown) => void = () => {};
    const waiting = () => new Promise<Response>((_, reject) => (lost = reject));
    const responses = [waiting, fail, respond];
    const { streamChat, client, requests } = await importWithout(
      [],
      () => responses.shift()?.() as Promise<Response>,
    );
    const stream = streamChat(client, question).result();
    await vi.waitFor(() => expect(responses).toHaveLength(2));
    await vi.dynamicImportSettled();
    lose("core/src/transport/failures", "core/src/chat/protocol/stream-code");
    lost(new TypeError("Failed to fetch"));
    await expect(stream).resolves.toMatchObject({ outcome: "complete" });
    expect(requests).toHaveLength(3);
  });
});

describe("a response whose error has lost the code that describes it", () => {
  test("A refusal keeps its status", async () => {
    const { completeChat, streamChat, client } = await importWithout(
      ["transport/failures", "chat/protocol/stream-code"],
      () => Response.json({ error: { message: "No." } }, { status: 403 }),
    );
    const refused = { name: "APIError", status: 403, billing: "none" };
    await expect(completeChat(client, question)).rejects.toMatchObject(refused);
    await expect(streamChat(client, question).result()).rejects.toMatchObject(refused);
  });
});

describe("a stream whose code is lost", () => {
  const respondWith = (data: readonly string[], rest = "") =>
    new Response(writeFrames(data) + rest, { headers: { "content-type": "text/event-stream" } });
  const isLost = {
    name: "StreamError",
    reason: "truncated",
    billing: "maybe",
    cause: { message: expect.stringContaining("module") },
    partial: { content: "" },
  };

  test.each([
    ["A plain response", [text, stop, usage, "[DONE]"], ""],
    ["A response with an error", [text, '{"error":{"message":"No."}}', stop, "[DONE]"], ""],
    ["A response with a tool call", [text, call, stop, "[DONE]"], ""],
    ["A response that breaks off", [text], 'data: {"choices":[{"ind'],
    ["An error in place of a stream", [], '{"error":{"message":"No.","code":"busy"}}'],
    ["A page in place of a stream", [], "<html><title>Log in</title></html>"],
    ["A stream without a response", ["[DONE]"], ""],
  ])(
    "%s is no success: it is truncated, may be billed, and the error has the cause",
    async (_, data, rest) => {
      const { streamChat, client } = await importWithout(["chat/protocol/stream-code"], () =>
        respondWith(data, rest),
      );
      await expect(streamChat(client, question).result()).rejects.toMatchObject(isLost);
    },
  );

  test("A loop throws the same error, and the connection is closed", async () => {
    const cancel = vi.fn();
    const body = new ReadableStream({ cancel });
    const { streamChat, client } = await importWithout(
      ["chat/protocol/stream-code"],
      () => new Response(body),
    );
    const next = streamChat(client, question)[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject(isLost);
    expect(cancel).toHaveBeenCalledOnce();
  });

  test("The code is loaded again when the response comes", async () => {
    const { streamChat, client } = await importWithout(["chat/protocol/stream-code"], async () => {
      await vi.dynamicImportSettled();
      restoreModules();
      return respondWith([text, stop, "[DONE]"]);
    });
    await expect(streamChat(client, question).result()).resolves.toMatchObject({
      message: { content: "Hi" },
      outcome: "complete",
    });
  });
});
