import { afterEach, describe, expect, test, vi } from "vitest";
import { DONE, frame, streamResponse } from "../../core/test/support/gateway.js";
import { failImports, restoreModules } from "../../core/test/support/lost-code.js";
import { checkOnly, streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { addIds } from "../../core/test/support/stored-streams.js";
import { until } from "./support/chat.js";

/* A page loads some code on demand. If the network is gone by then, the page still shows the right state. */

afterEach(restoreModules);

/** Opens a page without these modules, whose gateway is `respond`. */
async function openPageWithout(
  modules: readonly string[],
  respond: (request: Request) => Response | Promise<Response>,
) {
  failImports(...modules.map((module) => (module.includes("/src/") ? module : `stores/src/${module}`)));
  const core = await import("@sluice/core");
  const stores = await import("@sluice/stores");
  const requests: string[] = [];
  const events: string[] = [];
  const client = core.createClient({
    baseURL: "https://gateway.test",
    random: () => 0,
    resume: core.streamResumption(),
    onEvent: ({ type }) => events.push(type),
    fetch: async (request) => {
      requests.push(request.method);
      return respond(request);
    },
  });
  return { ...core, ...stores, client, requests, events };
}

const model = "alpha-v4.1-flash";
const anything = checkOnly(() => true);

describe("a chat whose code for responses can't be loaded", () => {
  test("A message is not sent, and retry() sends it with the code", async () => {
    const { createChatStore, client, requests } = await openPageWithout(
      ["core/src/chat/protocol/stream-code"],
      () => streamResponse(streamText("Hello")),
    );
    const chat = createChatStore(client, { model });
    expect(await chat.send("Hi")).toMatchObject({ outcome: "not-sent", error: { billing: "none" } });
    expect(requests).toEqual([]);
    restoreModules();
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ content: "Hello" }] });
    expect(requests).toEqual(["POST"]);
  });
});

/** Serves a resumable stream whose first connection ends after the first event. */
const storedEvents = [frame({ content: '{"a":' }), frame({ content: "1}" }), frame({}, "stop"), DONE];

function serveStoredStream({ method, headers }: Request): Response {
  if (method === "DELETE") return new Response(null, { status: 204 });
  const respond = streamResponse(
    method === "POST"
      ? addIds(storedEvents.slice(0, 1))
      : addIds(storedEvents, Number(headers.get("last-event-id"))),
  );
  respond.headers.set("x-stream-id", "s-1");
  return respond;
}

describe("a resumable stream that breaks off", () => {
  test("It can be resumed after a reload that could not load the code for schemas, and retry() returns the value", async () => {
    const { createChatStore, memoryStorage, client, requests } = await openPageWithout(
      ["chat/optional-parts"],
      serveStoredStream,
    );
    const storage = memoryStorage();
    const draft = { role: "assistant", content: "", streamId: "s-1" };
    await storage.write(
      "chat/a",
      new Map<string, unknown>([
        ["q", { message: { id: "q", role: "user", content: "Hi" }, revision: 1 }],
        ["d", { message: { id: "d", ...draft }, parent: "q", revision: 1 }],
      ]),
    );
    const chat = createChatStore(client, { model, id: "a", storage, outputSchema: anything });
    chat.subscribe(() => {});
    await until(chat, ({ messages }) => messages.at(-1)?.outcome !== undefined);
    expect(chat.getSnapshot().messages.at(-1)).toMatchObject({
      content: '{"a":1}',
      outcome: "error",
      streamId: "s-1",
    });
    restoreModules();
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ output: { a: 1 } }] });
    expect(requests).not.toContain("POST");
  });
});

describe("a chat whose own code can't be loaded", () => {
  test("A response with tool calls stays if the code for tools is lost, and no tool runs", async () => {
    const { createChatStore, defineTool, client, requests } = await openPageWithout(
      ["chat/optional-parts"],
      () => streamResponse(streamCalls({ a: ["pay", "{}"] }, { content: "I pay." })),
    );
    const execute = vi.fn();
    const pay = defineTool({ name: "pay", inputSchema: { type: "object" }, execute });
    const chat = createChatStore(client, { model, tools: [pay] });
    const turn = await chat.send("Hi");
    expect(turn).toMatchObject({
      outcome: "error",
      error: {
        billing: "maybe",
        message: expect.stringContaining("earlier responses of this turn stay"),
      },
      messages: [{}, { content: "I pay.", toolCalls: [{ state: "cancelled" }] }],
    });
    expect(execute).not.toHaveBeenCalled();
    expect(requests).toEqual(["POST"]);
  });

  test("A call that waits stays pending if the code for tools is lost, and its approval is not sent", async () => {
    const { createChatStore, client, requests } = await openPageWithout(["chat/optional-parts"], () =>
      streamResponse(streamText("Paid")),
    );
    const call = { id: "c", name: "pay", arguments: "{}", input: {}, state: "needs-approval" } as const;
    const chat = createChatStore(client, {
      model,
      initialMessages: [
        { role: "user", content: "Pay" },
        { role: "assistant", content: "", toolCalls: [call] },
      ],
    });
    expect(await chat.approve("c")).toMatchObject({ outcome: "not-sent", error: expect.any(Error) });
    expect(chat.getSnapshot().pendingActions).toMatchObject([{ toolCallId: "c" }]);
    expect(requests).toEqual([]);
  });

  test.each(["a history with tool calls", "prepareMessages", "a schema"])(
    "A message that is not sent without the code for %s stays, and retry() sends it",
    async (part) => {
      const { createChatStore, client, requests } = await openPageWithout(["chat/optional-parts"], () =>
        streamResponse(streamText("{}")),
      );
      const call = { id: "a", name: "pay", arguments: "{}", input: {}, state: "done", output: 1 } as const;
      const chat = createChatStore(client, {
        model,
        initialMessages: [
          { role: "user", content: "Pay" },
          { role: "assistant", content: "", toolCalls: [call] },
          { role: "assistant", content: "Paid." },
        ],
        ...(part === "a schema" && { outputSchema: anything }),
        ...(part === "prepareMessages" && { prepareMessages: (messages) => messages }),
      });
      expect(await chat.send("Hi")).toMatchObject({ outcome: "not-sent", messages: [{ content: "Hi" }] });
      expect(requests).toEqual([]);
      restoreModules();
      expect(await chat.retry()).toMatchObject({ outcome: "complete" });
      expect(requests).toEqual(["POST"]);
    },
  );
});
