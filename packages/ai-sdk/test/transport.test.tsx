// @vitest-environment happy-dom
import { type UIMessage, useChat } from "@ai-sdk/react";
import { type ChatTransportOptions, createChatTransport } from "@sluice/ai-sdk/transport";
import { cleanup, renderHook, waitFor } from "@testing-library/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  tool,
} from "ai";
import { StrictMode } from "react";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { called, ended, openWorld, type PageOptions, said, textStorage } from "./support/world.js";

afterEach(cleanup);

type World = ReturnType<typeof openWorld>;
type Options = Partial<ChatTransportOptions> & {
  readonly messages?: UIMessage[];
  readonly resume?: boolean;
  readonly strict?: boolean;
  readonly page?: PageOptions;
};

// its own limit of a second is short on a busy machine; a test has five
const until = (check: () => void) => waitFor(check, { timeout: 3000 });
const textOf = (message: UIMessage | undefined) =>
  message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Opens a page with a chat. */
function openPage(
  world: World,
  { messages = [], resume = false, strict = false, page = {}, ...options }: Options = {},
) {
  const { client, leave } = world.page(page);
  const transport = createChatTransport(client, { model: "delta-5.3", ...options });
  const finished: { finishReason?: string | undefined; isError: boolean; isAbort: boolean }[] = [];
  const { result, unmount } = renderHook(
    () =>
      useChat({
        id: "chat",
        transport,
        messages,
        resume,
        onFinish: ({ finishReason, isError, isAbort }) =>
          void finished.push({ finishReason, isError, isAbort }),
        sendAutomaticallyWhen: (chat) =>
          lastAssistantMessageIsCompleteWithToolCalls(chat) ||
          lastAssistantMessageIsCompleteWithApprovalResponses(chat),
      }),
    { ...(strict && { wrapper: StrictMode }) },
  );
  const chat = () => result.current;
  const last = () => chat().messages.at(-1);
  return {
    chat,
    last,
    finished,
    shows: (text: string) => until(() => expect(textOf(last())).toBe(text)),
    is: (status: string) => until(() => expect(chat().status).toBe(status)),
    unmount,
    /** Leaves as a reload does: connections are gone, and nothing is said. */
    leave() {
      leave();
      return structuredClone(chat().messages);
    },
  };
}

describe("useChat over the proxy", () => {
  test("An answer streams, and a second turn has the first one and its thinking", async () => {
    const world = openWorld({ emulator: { chat: () => ({ content: "A river", reasoning: "Water" }) } });
    const page = openPage(world, { instructions: "Be brief", params: { max_tokens: 50 } });
    void page.chat().sendMessage({ text: "Hello" });
    await page.shows("A river");
    await page.is("ready");
    expect(page.last()?.parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Water", state: "done" },
      { type: "text", text: "A river", state: "done" },
    ]);
    void page.chat().sendMessage({ text: "And now?" });
    await until(() => expect(page.chat().messages).toHaveLength(4));
    await page.is("ready");
    expect(world.asked[1]).toMatchObject({
      model: "delta-5.3",
      max_tokens: 50,
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "Hello" },
        { role: "assistant", content: "A river", reasoning_content: "Water" },
        { role: "user", content: "And now?" },
      ],
    });
    expect(page.finished).toMatchObject([{ finishReason: "stop", isError: false }, { finishReason: "stop" }]);
    expect(world.asked).toHaveLength(2);
  });

  test("regenerate() replaces the answer, and body of a message wins over the options", async () => {
    const world = openWorld();
    const page = openPage(world);
    void page
      .chat()
      .sendMessage({ text: "Hello" }, { body: { model: "alpha-v4.1-flash", reasoning_effort: "max" } });
    await until(() => expect(page.finished).toHaveLength(1));
    const { id } = page.last() ?? {};
    void page.chat().regenerate();
    await until(() => expect(page.finished).toHaveLength(2));
    expect(page.chat().messages).toHaveLength(2);
    expect(page.last()?.id).not.toBe(id);
    expect(world.asked).toMatchObject([
      { model: "alpha-v4.1-flash", reasoning_effort: "max" },
      { model: "delta-5.3" },
    ]);
  });

  test("Usage and more of the whole answer become metadata of its message", async () => {
    const world = openWorld();
    const page = openPage(world, {
      model: "alpha-v4.1-flash",
      messageMetadata: ({ usage, outcome }) => ({ tokens: usage?.total_tokens, outcome }),
    });
    void page.chat().sendMessage({ text: "Hello" });
    await page.is("ready");
    await until(() =>
      expect(page.last()?.metadata).toMatchObject({ tokens: expect.any(Number), outcome: "complete" }),
    );
  });

  test.each([
    ["[[drop]]", false],
    ["[[truncate]]", false],
    ["[[error-frame]]", true],
  ])("An answer that ends by %s is an error, and its text stays unfinished", async (scene, isLogged) => {
    const world = openWorld({ isLogged });
    const page = openPage(world, { storage: textStorage() });
    void page.chat().sendMessage({ text: `Hello ${scene}` });
    await page.is("error");
    expect(page.chat().error).toMatchObject({ name: "StreamError" });
    expect(page.last()?.parts.at(-1)).toMatchObject({ type: "text", state: "streaming" });
    expect(textOf(page.last())?.length).toBeGreaterThan(0);
    expect(page.finished).toMatchObject([{ isError: true }]);
    expect(world.asked).toHaveLength(1);
  });

  test("A refusal is the client's own error, and leaves no message", async () => {
    const world = openWorld();
    const page = openPage(world, { params: { max_tokens: 9_999_999 } });
    void page.chat().sendMessage({ text: "Hello" });
    await page.is("error");
    expect(page.chat().error).toMatchObject({ name: "ValidationError", outcome: "not-sent" });
    expect(page.chat().messages).toHaveLength(1);
    expect(world.asked).toEqual([]);
  });

  test.each([true, false])(
    "stop() stops the answer at the gateway, and keeps its text (stream log: %s)",
    async (isLogged) => {
      const world = openWorld({ isLogged });
      world.answerByHand();
      const storage = textStorage();
      const page = openPage(world, { storage });
      void page.chat().sendMessage({ text: "Hello" });
      await until(() => expect(world.written).toHaveLength(1));
      world.written[0]?.write(said("one "));
      await page.shows("one ");
      await page.chat().stop();
      await until(() => {
        expect(world.written[0]?.isLeft).toBe(true);
        expect(page.chat().status).toBe("ready");
        expect([...storage.texts]).toEqual([]);
      });
      expect(textOf(page.last())).toBe("one ");
    },
  );
});

test("An answer stops at the gateway when its component goes, as useChat stops its chat", async () => {
  const world = openWorld();
  world.answerByHand();
  const page = openPage(world, { storage: textStorage() });
  void page.chat().sendMessage({ text: "Hello" });
  await until(() => expect(world.written).toHaveLength(1));
  world.written[0]?.write(said("one "));
  await page.shows("one ");
  page.unmount();
  await until(() => expect(world.written[0]?.isLeft).toBe(true));
});

describe("tools of the page", () => {
  const depth = (execute: (input: { river: string }) => unknown = () => "7 metres") =>
    tool({ description: "The depth of a river", inputSchema: z.object({ river: z.string() }), execute });

  test("A tool runs once in the page, and the answer goes on in the same message", async () => {
    let runs = 0;
    const world = openWorld();
    const page = openPage(world, { tools: { get_depth: depth(() => `${++runs} metres`) } });
    void page.chat().sendMessage({ text: "Use get_depth for the Elbe" });
    await until(() => expect(textOf(page.last())).toContain("1 metres"));
    await page.is("ready");
    expect(page.chat().messages).toHaveLength(2);
    expect(page.last()?.parts.filter(({ type }) => type === "tool-get_depth")).toMatchObject([
      { state: "output-available", output: "1 metres" },
    ]);
    expect(world.asked).toHaveLength(2);
    expect(world.asked[1]).toMatchObject({
      tools: [{ function: { name: "get_depth", parameters: { type: "object", required: ["river"] } } }],
      messages: [
        {},
        { role: "assistant", reasoning_content: expect.any(String) },
        { role: "tool", content: "1 metres" },
      ],
    });
    expect(runs).toBe(1);
  });

  test("A tool without execute waits for the app", async () => {
    const world = openWorld();
    const waiting = tool({ inputSchema: z.object({ river: z.string() }), outputSchema: z.string() });
    const page = openPage(world, { tools: { get_depth: waiting } });
    void page.chat().sendMessage({ text: "Use get_depth for the Elbe" });
    await until(() =>
      expect(page.last()?.parts).toContainEqual(expect.objectContaining({ state: "input-available" })),
    );
    await page.is("ready");
    const call = page.last()?.parts.find((part) => "toolCallId" in part) as { toolCallId: string };
    void page.chat().addToolOutput({ tool: "get_depth", toolCallId: call.toolCallId, output: "9 metres" });
    await until(() => expect(textOf(page.last())).toContain("9 metres"));
    expect(world.asked).toHaveLength(2);
  });

  test.each([
    [true, "7 metres", 1],
    [false, "denied", 0],
  ])("A call that needs approval runs after it alone (%s)", async (approved, text, runs) => {
    let count = 0;
    const world = openWorld();
    const page = openPage(world, {
      tools: {
        get_depth: depth(() => {
          count += 1;
          return "7 metres";
        }),
      },
      needsApproval: ({ toolName }) => toolName === "get_depth",
    });
    void page.chat().sendMessage({ text: "Use get_depth for the Elbe" });
    await until(() =>
      expect(page.last()?.parts).toContainEqual(expect.objectContaining({ state: "approval-requested" })),
    );
    await page.is("ready");
    expect(count).toBe(0);
    const call = page.last()?.parts.find((part) => "approval" in part && part.approval) as {
      approval: { id: string };
    };
    void page.chat().addToolApprovalResponse({ id: call.approval.id, approved });
    await until(() => expect(world.asked).toHaveLength(2));
    await page.is("ready");
    expect(JSON.stringify(world.asked[1])).toContain(text);
    expect(count).toBe(runs);
    expect(world.asked).toHaveLength(2);
  });

  test.each([
    ["an error", new Error("no such river")],
    ["a plain object", { code: 404, message: "no such river" }],
  ])("the model gets the message of %s that a tool throws", async (_, thrown) => {
    const world = openWorld();
    const page = openPage(world, {
      tools: {
        get_depth: depth(() => {
          throw thrown;
        }),
      },
    });
    void page.chat().sendMessage({ text: "Use get_depth for the Elbe" });
    await until(() => expect(world.asked).toHaveLength(2));
    await page.is("ready");
    expect(JSON.stringify(world.asked[1])).toContain("no such river");
  });

  test.each([
    ["cut", undefined, "error"],
    ["without a finish_reason", "data: [DONE]\n\n", "ready"],
    ["cut at its length", ended("length"), "ready"],
  ])("An answer %s runs no tool, and nothing more is sent", async (_, end, status) => {
    let runs = 0;
    const world = openWorld({ isLogged: false });
    world.answerByHand();
    const page = openPage(world, { tools: { get_depth: depth(() => ++runs) } });
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(world.written).toHaveLength(1));
    const [answer] = world.written;
    answer?.write(called("get_depth", { river: "Elbe" }));
    await until(() =>
      expect(page.last()?.parts).toContainEqual(expect.objectContaining({ state: "input-streaming" })),
    );
    if (end) {
      answer?.write(end);
      answer?.end();
    } else answer?.cut();
    await until(() => expect(page.finished).toHaveLength(1));
    await page.is(status);
    expect(runs).toBe(0);
    expect(world.asked).toHaveLength(1);
  });

  test("A model that calls tools for ever is ended at the limit of steps", async () => {
    const world = openWorld({
      emulator: { chat: () => ({ toolCalls: [{ name: "get_depth", arguments: { river: "Elbe" } }] }) },
    });
    const page = openPage(world, { tools: { get_depth: depth() }, maxSteps: 3 });
    void page.chat().sendMessage({ text: "Hello" });
    await page.is("error");
    expect(page.chat().error?.message).toContain("the limit of 3 answers");
    expect(world.asked).toHaveLength(3);
  });
});

describe("a reload", () => {
  async function begun(world: World, options: Options = {}) {
    world.answerByHand();
    const storage = textStorage();
    const page = openPage(world, { storage, ...options });
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(world.written).toHaveLength(1));
    return { storage, page, answer: world.written[0] as World["written"][number] };
  }

  /** Reloads in the middle of an answer, which goes on in the second page. */
  async function resumed(world: World) {
    const { storage, page, answer } = await begun(world);
    answer.write(said("one "));
    await page.shows("one ");
    const after = openPage(world, { storage, messages: page.leave(), resume: true });
    await after.shows("one ");
    return { storage, answer, after };
  }

  test.each([false, true])(
    "An answer goes on after a reload, and is paid once (strict mode: %s)",
    async (strict) => {
      const world = openWorld();
      const { storage, page, answer } = await begun(world);
      answer.write(said("one "));
      await page.shows("one ");
      const { id } = page.last() ?? {};
      const messages = page.leave();
      const after = openPage(world, { storage, messages, resume: true, strict });
      await after.shows("one ");
      answer.write(said("two") + ended());
      answer.end();
      await after.shows("one two");
      await after.is("ready");
      expect(after.last()?.id).toBe(id);
      expect(after.chat().messages).toHaveLength(2);
      expect(world.asked).toHaveLength(1);
      expect(world.stopped).toEqual([]);
      await until(() => expect([...storage.texts]).toEqual([]));
    },
  );

  test("A page that was left before the first word finds its answer", async () => {
    const world = openWorld();
    const { storage, page, answer } = await begun(world);
    await until(() => expect(storage.texts.size).toBe(1));
    const messages = page.leave();
    answer.write(said("late") + ended());
    answer.end();
    const after = openPage(world, { storage, messages, resume: true });
    await after.shows("late");
    await after.is("ready");
    expect(world.asked).toHaveLength(1);
  });

  describe("before the headers of an answer", () => {
    /** Asks, and leaves when the gateway has the request and the page no answer. */
    async function leftBehind(world: World) {
      const { storage, page, answer } = await begun(world, { page: { isDeaf: true } });
      answer.write(said("one answer") + ended());
      answer.end();
      const messages = page.leave();
      expect(messages.map(({ role }) => role)).toEqual(["user"]);
      const after = openPage(world, { storage, messages, resume: true });
      await after.is("ready");
      return { after, storage };
    }

    test("regenerate() brings the answer, and it is paid once; the next one is another", async () => {
      const world = openWorld();
      const { after, storage } = await leftBehind(world);
      void after.chat().regenerate();
      await after.shows("one answer");
      await after.is("ready");
      expect(world.asked).toHaveLength(1);
      await until(() => expect([...storage.texts]).toEqual([]));
      void after.chat().regenerate();
      await until(() => expect(world.asked).toHaveLength(2));
    });

    test("another question is another request", async () => {
      const world = openWorld();
      const { after } = await leftBehind(world);
      void after.chat().sendMessage({ text: "And now?" });
      await until(() => expect(world.written).toHaveLength(2));
      world.written[1]?.write(said("another answer") + ended());
      world.written[1]?.end();
      await after.shows("another answer");
      expect(world.asked).toHaveLength(2);
    });

    test("an answer that was stopped is not brought back", async () => {
      const world = openWorld();
      const { storage, page } = await begun(world, { page: { isDeaf: true } });
      await page.chat().stop();
      await until(() => expect([...storage.texts]).toEqual([]));
      const after = openPage(world, { storage, messages: page.leave(), resume: true });
      void after.chat().regenerate();
      await until(() => expect(world.written).toHaveLength(2));
      world.written[1]?.write(said("another answer") + ended());
      world.written[1]?.end();
      await after.shows("another answer");
      expect(world.asked).toHaveLength(2);
    });
  });

  test("A second resumption takes the answer over from the first, and stops nothing", async () => {
    const world = openWorld();
    const { after, answer } = await resumed(world);
    void after.chat().resumeStream();
    answer.write(said("two ") + said("three") + ended());
    answer.end();
    await after.shows("one two three");
    await after.is("ready");
    expect(world.stopped).toEqual([]);
    expect(world.asked).toHaveLength(1);
  });

  test("stop() stops an answer that was resumed", async () => {
    const world = openWorld();
    const { after, storage, answer } = await resumed(world);
    await after.is("streaming");
    await after.chat().stop();
    await until(() => {
      expect(answer.isLeft).toBe(true);
      expect([...storage.texts]).toEqual([]);
    });
    expect(textOf(after.last())).toBe("one ");
  });

  test("A tool of a resumed answer runs once, and its message goes on with all steps after another reload", async () => {
    let runs = 0;
    const world = openWorld();
    const tools = {
      get_depth: tool({ inputSchema: z.object({ river: z.string() }), execute: () => `${++runs} metres` }),
    };
    const { storage, page, answer } = await begun(world, { tools });
    answer.write(said("Let me see. "));
    await page.shows("Let me see. ");
    const second = openPage(world, { storage, messages: page.leave(), resume: true, tools });
    await second.shows("Let me see. ");
    answer.write(called("get_depth", { river: "Elbe" }) + ended("tool_calls"));
    answer.end();
    await until(() => expect(world.written).toHaveLength(2));
    world.written[1]?.write(said("It is "));
    await second.shows("Let me see. It is ");
    // what the app has kept ends in the middle of the second step
    const third = openPage(world, { storage, messages: second.leave(), resume: true, tools });
    await third.shows("Let me see. It is ");
    world.written[1]?.write(said("1 metre") + ended());
    world.written[1]?.end();
    await third.shows("Let me see. It is 1 metre");
    await third.is("ready");
    expect(third.chat().messages).toHaveLength(2);
    expect(third.last()?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-get_depth",
      "step-start",
      "text",
    ]);
    expect(third.last()?.parts[2]).toMatchObject({
      state: "output-available",
      input: { river: "Elbe" },
      output: "1 metres",
    });
    expect(runs).toBe(1);
    expect(world.asked).toHaveLength(2);
  });

  test.each([
    ["unknown to the proxy", JSON.stringify({ streamId: "0190a1b2", messageId: "m", earlier: [] })],
    ["no id", JSON.stringify({ streamId: "../secrets", messageId: "m", earlier: [] })],
    ["no record", "nonsense"],
  ])("A record that is %s leaves the chat ready, and is removed", async (_, text) => {
    const world = openWorld();
    const storage = textStorage();
    storage.setItem("sluice/ai-sdk//chat", text);
    const page = openPage(world, { storage, resume: true });
    if (text !== "nonsense") await until(() => expect([...storage.texts]).toEqual([]));
    await page.is("ready");
    expect(page.chat().messages).toEqual([]);
    expect(world.asked).toEqual([]);
  });

  test("A storage that fails costs no answer", async () => {
    const world = openWorld();
    const fail = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
    const page = openPage(world, {
      storage: { getItem: fail, setItem: fail, removeItem: fail },
      resume: true,
    });
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(page.finished).toMatchObject([{ isError: false }]));
  });

  test("A storage that never answers costs no answer, and a warning says so", async () => {
    const world = openWorld();
    const warnings: string[] = [];
    const page = openPage(world, {
      storage: { getItem: never, setItem: never, removeItem: never },
      resume: true,
      page: {
        // waits for a storage end at once, and those for the gateway never
        clock: {
          now: () => performance.now(),
          sleep: (ms) => (ms <= 3000 ? Promise.resolve() : never()),
        },
        onEvent(event) {
          if (event.type === "warning") warnings.push(event.issue.message);
        },
      },
    });
    await until(() => expect(warnings).toEqual([expect.stringContaining("did not answer within 3000 ms")]));
    await page.is("ready");
    void page.chat().sendMessage({ text: "Hello" });
    await until(() => expect(page.finished).toMatchObject([{ isError: false }]));
    expect(world.asked).toHaveLength(1);
  });
});

const never = () => new Promise<never>(() => {});
