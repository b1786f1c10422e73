import { afterEach, describe, expect, test, vi } from "vitest";
import { failImports, restoreModules } from "./support/lost-code.js";

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
  failImports(...modules.map((module) => `core/src/${module}`));
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

describe("a request without its code for failures", () => {
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

  test("A call loads the code for failures with its request, so that a failure is retried", async () => {
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
    failImports("core/src/transport/failures", "core/src/chat/protocol/stream-code");
    lost(new TypeError("Failed to fetch"));
    await expect(stream).resolves.toMatchObject({ outcome: "complete" });
    expect(requests).toHaveLength(3);
  });
});

describe("an error response without the code that describes it", () => {
  test("A refusal keeps its status", async () => {
    const { completeChat, client } = await importWithout(["transport/failures"], () =>
      Response.json({ error: { message: "No." } }, { status: 403 }),
    );
    const refused = { name: "APIError", status: 403, billing: "none" };
    await expect(completeChat(client, question)).rejects.toMatchObject(refused);
  });
});

describe("a stream whose code can't be loaded", () => {
  const respond = async () =>
    new Response(writeFrames([text, stop, "[DONE]"]), { headers: { "content-type": "text/event-stream" } });

  test("Nothing is sent, and the error has the cause", async () => {
    const { streamChat, client, requests } = await importWithout(["chat/protocol/stream-code"], respond);
    const isUnsent = {
      name: "ConnectionError",
      billing: "none",
      cause: { message: expect.stringContaining("module") },
    };
    await expect(streamChat(client, question).result()).rejects.toMatchObject(isUnsent);
    const next = streamChat(client, question)[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject(isUnsent);
    expect(requests).toEqual([]);
  });

  test("The next stream loads the code again", async () => {
    const { streamChat, client, requests } = await importWithout(["chat/protocol/stream-code"], respond);
    await expect(streamChat(client, question).result()).rejects.toThrow("nothing was sent");
    restoreModules();
    await expect(streamChat(client, question).result()).resolves.toMatchObject({ outcome: "complete" });
    expect(requests).toEqual(["POST"]);
  });
});
