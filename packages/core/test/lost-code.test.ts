import { afterEach, describe, expect, test, vi } from "vitest";
import { callAnswer, onlyChecks, textAnswer, until } from "./support/chat.js";
import { DONE, frame, settled, streamAnswer } from "./support/gateway.js";
import { numbered } from "./support/kept.js";

/* A page loads some code only when it needs it. Where the network is gone by then, what the page says stays true. */

const lost = new Set<string>();

afterEach(comeBack);

/** Lets all code be loaded again. */
function comeBack(): void {
  for (const path of lost) vi.doUnmock(path);
  lost.clear();
}

/** Makes modules impossible to load from now on. */
function lose(...modules: readonly string[]): void {
  for (const module of modules) {
    const path = `../src/${module}.js`;
    lost.add(path);
    vi.doMock(path, () => {
      throw new TypeError("Failed to fetch dynamically imported module");
    });
  }
}

/** Creates a page without these modules, whose gateway is `answer`. */
async function pageWithout(
  modules: readonly string[],
  answer: (request: Request) => Response | Promise<Response>,
) {
  vi.resetModules();
  lose(...modules);
  const core = await import("@sluice/core");
  const requests: string[] = [];
  const events: string[] = [];
  const client = core.createClient({
    baseURL: "https://gateway.test",
    random: () => 0,
    resume: core.streamResumption(),
    onEvent: ({ type }) => events.push(type),
    fetch: async (request) => {
      requests.push(request.method);
      return answer(request);
    },
  });
  return { ...core, client, requests, events };
}

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] } as const;
const model = "alpha-v4.1-flash";
const anything = onlyChecks(() => true);

describe("a request whose code for failures is lost", () => {
  test.each([
    ["connect ECONNREFUSED 127.0.0.1:80", "not-sent"],
    ["getaddrinfo ENOTFOUND gateway.test", "not-sent"],
    ["Connection refused", "not-sent"],
    ["connect EHOSTUNREACH", "not-sent"],
    ["connect ENETUNREACH", "not-sent"],
    ["Failed to fetch", "unknown"],
  ])("A failure of %j is %s", async (message, outcome) => {
    const { completeChat, client } = await pageWithout(["transport/repeat"], () =>
      Promise.reject(new TypeError("fetch failed", { cause: new Error(message) })),
    );
    await expect(completeChat(client, question)).rejects.toMatchObject({ name: "ConnectionError", outcome });
  });

  test("A refusal keeps its status", async () => {
    const { completeChat, streamChat, client } = await pageWithout(["transport/repeat"], () =>
      Response.json({ error: { message: "No." } }, { status: 403 }),
    );
    const refused = { name: "APIError", status: 403, outcome: "refused" };
    await expect(completeChat(client, question)).rejects.toMatchObject(refused);
    await expect(streamChat(client, question).result()).rejects.toMatchObject(refused);
  });

  test("A refused message of a chat is not lost, and is sent again by retry()", async () => {
    const answers = [Response.json({}, { status: 503 }), streamAnswer(textAnswer("Hello"))];
    const { createChatStore, client, requests } = await pageWithout(
      ["transport/repeat"],
      () => answers.shift() as Response,
    );
    const chat = createChatStore(client, { model });
    expect(await chat.send("Hi")).toMatchObject({ outcome: "error", error: { status: 503 } });
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ content: "Hello" }] });
    expect(requests).toEqual(["POST", "POST"]);
  });
});

/** The events of a kept answer, whose first connection ends behind the first of them. */
const kept = [frame({ content: '{"a":' }), frame({ content: "1}" }), frame({}, "stop"), DONE];

function keptAnswer({ method, headers }: Request): Response {
  if (method === "DELETE") return new Response(null, { status: 204 });
  const answer = streamAnswer(
    method === "POST" ? numbered(kept.slice(0, 1)) : numbered(kept, Number(headers.get("last-event-id"))),
  );
  answer.headers.set("x-stream-id", "s-1");
  return answer;
}

describe("a kept answer that breaks off", () => {
  test("It stays kept without chat/conversation/json-schema after a reload, and retry() gives the object", async () => {
    const { createChatStore, memoryStorage, client, requests } = await pageWithout(
      ["chat/conversation/json-schema"],
      keptAnswer,
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
    const chat = createChatStore(client, { model, id: "a", storage, schema: anything });
    chat.subscribe(() => {});
    await until(chat, ({ messages }) => messages.at(-1)?.outcome !== undefined);
    expect(chat.getSnapshot().messages.at(-1)).toMatchObject({
      content: '{"a":1}',
      outcome: "error",
      streamId: "s-1",
    });
    comeBack();
    expect(await chat.retry()).toMatchObject({ outcome: "complete", messages: [{ object: { a: 1 } }] });
    expect(requests).not.toContain("POST");
  });
});

test("An answer whose body is no stream can't be read without transport/odd-body, and says so once", async () => {
  const { completeChat, streamChat, client, requests } = await pageWithout(["transport/odd-body"], () =>
    Object.defineProperty(Response.json({}), "body", { value: undefined }),
  );
  await expect(completeChat(client, question)).rejects.toMatchObject({
    name: "ConnectionError",
    outcome: "unknown",
  });
  await expect(streamChat(client, question).result()).rejects.toMatchObject({
    name: "StreamError",
    outcome: "unknown",
  });
  expect(requests).toEqual(["POST", "POST"]);
});

describe("a chat whose own code is lost", () => {
  test.each(["chat/conversation/persistence", "storage/record-writer", "storage/recovery"])(
    "It works without %s, and says what is not stored",
    async (module) => {
      const { chat, events } = await storedChat(module);
      expect(events).toContain("storage-failure");
      expect(chat.getSnapshot().unsaved).toBe(2);
    },
  );

  test("It stores all messages with the next one, when its code is there", async () => {
    const { chat, createChatStore, client, storage } = await storedChat("chat/conversation/persistence");
    comeBack();
    expect(await chat.send("Two")).toMatchObject({ outcome: "complete" });
    await until(chat, ({ unsaved }) => unsaved === 0);
    await settled();
    const reloaded = createChatStore(client, { model, id: "a", storage });
    reloaded.subscribe(() => {});
    await until(reloaded, ({ isRestoring }) => !isRestoring);
    const texts = reloaded.getSnapshot().messages.map(({ content }) => content);
    expect(texts).toEqual(["One", "Hello", "Two", "Hello"]);
  });

  /** A chat with a storage that has sent a message in a page without a module. */
  async function storedChat(module: string) {
    const page = await pageWithout([module], () => streamAnswer(textAnswer("Hello")));
    const storage = page.memoryStorage();
    const chat = page.createChatStore(page.client, { model, id: "a", storage });
    chat.subscribe(() => {});
    await until(chat, ({ isRestoring }) => !isRestoring);
    expect(await chat.send("One")).toMatchObject({ outcome: "complete" });
    return { ...page, chat, storage };
  }

  test("An answer with tool calls stays without chat/conversation/tool-calls, and no tool runs", async () => {
    const { createChatStore, defineTool, client, requests } = await pageWithout(
      ["chat/conversation/tool-calls"],
      () => streamAnswer(callAnswer({ a: ["pay", "{}"] }, { content: "I pay." })),
    );
    const execute = vi.fn();
    const pay = defineTool({ name: "pay", parameters: { type: "object" }, execute });
    const chat = createChatStore(client, { model, tools: [pay] });
    const turn = await chat.send("Hi");
    expect(turn).toMatchObject({
      outcome: "interrupted",
      error: {
        outcome: "unknown",
        message: expect.stringContaining("earlier answers of this turn are kept"),
      },
      messages: [{}, { content: "I pay.", toolCalls: [{ state: "cancelled" }] }],
    });
    expect(execute).not.toHaveBeenCalled();
    expect(requests).toEqual(["POST"]);
  });

  test.each(["chat/conversation/history", "chat/conversation/json-schema", "chat/conversation/prepare"])(
    "A message is not sent without %s, stays, and is sent by retry()",
    async (module) => {
      const { createChatStore, client, requests } = await pageWithout([module], () =>
        streamAnswer(textAnswer("{}")),
      );
      const call = { id: "a", name: "pay", arguments: "{}", input: {}, state: "done", output: 1 } as const;
      const chat = createChatStore(client, {
        model,
        initialMessages: [
          { role: "user", content: "Pay" },
          { role: "assistant", content: "", toolCalls: [call] },
          { role: "assistant", content: "Paid." },
        ],
        ...(module.endsWith("json-schema") && { schema: anything }),
        ...(module.endsWith("prepare") && { prepareMessages: (messages) => messages }),
      });
      expect(await chat.send("Hi")).toMatchObject({ outcome: "not-sent", messages: [{ content: "Hi" }] });
      expect(requests).toEqual([]);
      comeBack();
      expect(await chat.retry()).toMatchObject({ outcome: "complete" });
      expect(requests).toEqual(["POST"]);
    },
  );
});

test("A film is listed without storage/record-writer-later, and stored with the next one", async () => {
  const ids = ["t-1", "t-2"];
  const { createVideoTaskList, memoryStorage, client, events, ...core } = await pageWithout(
    ["storage/record-writer-later"],
    () => Response.json({ id: ids.shift(), model: "beta3.0-video", created_at: 1 }),
  );
  const storage = memoryStorage();
  const create = (prompt: string) =>
    core.createVideoTaskStore(client, { storage }).create({ model: "beta3.0-video", input: { prompt } });
  await create("A reef");
  expect(createVideoTaskList(client, { storage }).getSnapshot()).toHaveLength(1);
  expect(events).toContain("storage-failure");
  comeBack();
  await create("A whale");
  expect([...(await storage.read("video-tasks")).values()]).toHaveLength(2);
});

describe("a user who signs out where storage/forget is lost", () => {
  test("forget() resolves to the error, and removes all when the code is there", async () => {
    const { createChatStore, memoryStorage, client } = await pageWithout(["storage/forget"], () =>
      streamAnswer(textAnswer("Hello")),
    );
    const storage = memoryStorage();
    const chat = createChatStore(client, { model, id: "a", storage });
    await chat.send("Hi");
    expect(await client.forget()).toHaveLength(1);
    comeBack();
    expect(await client.forget()).toEqual([]);
    expect(await storage.read("chat/a")).toEqual(new Map());
  });

  test("Another tab that can't forget says so, and its error is handled", async () => {
    const { createChatStore, memoryStorage, client, events } = await pageWithout(["storage/forget"], () =>
      streamAnswer(textAnswer("Hello")),
    );
    const storage = memoryStorage();
    const chat = createChatStore(client, { model, id: "a", storage });
    await chat.send("Hi");
    await storage.write("forgotten", new Map([["notice", "another tab"]]));
    await settled();
    expect(events).toContain("storage-failure");
    expect(chat.getSnapshot().messages).toEqual([]);
  });
});
