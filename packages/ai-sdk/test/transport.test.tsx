// @vitest-environment happy-dom
import { cleanup } from "@testing-library/react";
import { tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { openPage, textOf, until } from "./support/page.js";
import { called, ended, openWorld, said, textStorage } from "./support/world.js";

afterEach(cleanup);

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
  ])("An answer that ends by %s is an error, and its text stays unfinished", async (fault, isLogged) => {
    const world = openWorld({ isLogged });
    const page = openPage(world, { storage: textStorage() });
    void page.chat().sendMessage({ text: `Hello ${fault}` });
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
    expect(page.chat().error).toMatchObject({ name: "ValidationError", billing: "none" });
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
