// @vitest-environment happy-dom
import { cleanup } from "@testing-library/react";
import { tool } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { joinText, openPage, waitUntil } from "./support/page.js";
import {
  createScenario,
  createTextStorage,
  toCallFrame,
  toEndFrames,
  toTextFrame,
} from "./support/scenario.js";

afterEach(cleanup);

describe("useChat over the proxy", () => {
  test("A message streams, and a second turn sends the first turn with its thinking", async () => {
    const scenario = createScenario({
      emulator: { chat: () => ({ content: "A river", reasoning: "Water" }) },
    });
    const page = openPage(scenario, { instructions: "Be brief", params: { max_tokens: 50 } });
    void page.getChat().sendMessage({ text: "Hello" });
    await page.waitForText("A river");
    await page.waitForStatus("ready");
    expect(page.getLast()?.parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Water", state: "done" },
      { type: "text", text: "A river", state: "done" },
    ]);
    void page.getChat().sendMessage({ text: "And now?" });
    await waitUntil(() => expect(page.getChat().messages).toHaveLength(4));
    await page.waitForStatus("ready");
    expect(scenario.chatRequests[1]).toMatchObject({
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
    expect(scenario.chatRequests).toHaveLength(2);
  });

  test("regenerate() replaces the message, and the body of a message overrides the options", async () => {
    const scenario = createScenario();
    const page = openPage(scenario);
    void page
      .getChat()
      .sendMessage({ text: "Hello" }, { body: { model: "alpha-v4.1-flash", reasoning_effort: "max" } });
    await waitUntil(() => expect(page.finished).toHaveLength(1));
    const { id } = page.getLast() ?? {};
    void page.getChat().regenerate();
    await waitUntil(() => expect(page.finished).toHaveLength(2));
    // React renders the messages after `onFinish`
    await waitUntil(() => expect(page.getChat().messages).toHaveLength(2));
    expect(page.getLast()?.id).not.toBe(id);
    expect(scenario.chatRequests).toMatchObject([
      { model: "alpha-v4.1-flash", reasoning_effort: "max" },
      { model: "delta-5.3" },
    ]);
  });

  test("The result of a message becomes its metadata, with usage", async () => {
    const scenario = createScenario();
    const page = openPage(scenario, {
      model: "alpha-v4.1-flash",
      messageMetadata: ({ usage, outcome }) => ({ tokens: usage?.total_tokens, outcome }),
    });
    void page.getChat().sendMessage({ text: "Hello" });
    await page.waitForStatus("ready");
    await waitUntil(() =>
      expect(page.getLast()?.metadata).toMatchObject({ tokens: expect.any(Number), outcome: "complete" }),
    );
  });

  test.each([
    ["[[drop]]", false],
    ["[[truncate]]", false],
    ["[[error-frame]]", true],
  ])("A message that ends by %s is an error, and its text stays unfinished", async (fault, storesStreams) => {
    const scenario = createScenario({ storesStreams });
    const page = openPage(scenario, { storage: createTextStorage() });
    void page.getChat().sendMessage({ text: `Hello ${fault}` });
    await page.waitForStatus("error");
    expect(page.getChat().error).toMatchObject({ name: "StreamError" });
    expect(page.getLast()?.parts.at(-1)).toMatchObject({ type: "text", state: "streaming" });
    expect(joinText(page.getLast())?.length).toBeGreaterThan(0);
    expect(page.finished).toMatchObject([{ isError: true }]);
    expect(scenario.chatRequests).toHaveLength(1);
  });

  test("A refusal is the client's own error, and leaves no message", async () => {
    const scenario = createScenario();
    const page = openPage(scenario, { params: { max_tokens: 9_999_999 } });
    void page.getChat().sendMessage({ text: "Hello" });
    await page.waitForStatus("error");
    expect(page.getChat().error).toMatchObject({ name: "ValidationError", billing: "none" });
    expect(page.getChat().messages).toHaveLength(1);
    expect(scenario.chatRequests).toEqual([]);
  });

  test.each([true, false])(
    "stop() stops the response at the gateway, and its text stays (stored stream: %s)",
    async (storesStreams) => {
      const scenario = createScenario({ storesStreams });
      scenario.writeByHand();
      const storage = createTextStorage();
      const page = openPage(scenario, { storage });
      void page.getChat().sendMessage({ text: "Hello" });
      await waitUntil(() => expect(scenario.written).toHaveLength(1));
      scenario.written[0]?.write(toTextFrame("one "));
      await page.waitForText("one ");
      await page.getChat().stop();
      await waitUntil(() => {
        expect(scenario.written[0]?.isDisconnected).toBe(true);
        expect(page.getChat().status).toBe("ready");
        expect([...storage.texts]).toEqual([]);
      });
      expect(joinText(page.getLast())).toBe("one ");
    },
  );
});

describe("tools of the page", () => {
  const measureDepth = (execute: (input: { river: string }) => unknown = () => "7 metres") =>
    tool({ description: "The depth of a river", inputSchema: z.object({ river: z.string() }), execute });

  test("A tool runs once in the page, and the model continues in the same message", async () => {
    let runs = 0;
    const scenario = createScenario();
    const page = openPage(scenario, { tools: { get_depth: measureDepth(() => `${++runs} metres`) } });
    void page.getChat().sendMessage({ text: "Use get_depth for the Elbe" });
    await waitUntil(() => expect(joinText(page.getLast())).toContain("1 metres"));
    await page.waitForStatus("ready");
    expect(page.getChat().messages).toHaveLength(2);
    expect(page.getLast()?.parts.filter(({ type }) => type === "tool-get_depth")).toMatchObject([
      { state: "output-available", output: "1 metres" },
    ]);
    expect(scenario.chatRequests).toHaveLength(2);
    expect(scenario.chatRequests[1]).toMatchObject({
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
    const scenario = createScenario();
    const waiting = tool({ inputSchema: z.object({ river: z.string() }), outputSchema: z.string() });
    const page = openPage(scenario, { tools: { get_depth: waiting } });
    void page.getChat().sendMessage({ text: "Use get_depth for the Elbe" });
    await waitUntil(() =>
      expect(page.getLast()?.parts).toContainEqual(expect.objectContaining({ state: "input-available" })),
    );
    await page.waitForStatus("ready");
    const call = page.getLast()?.parts.find((part) => "toolCallId" in part) as { toolCallId: string };
    void page.getChat().addToolOutput({ tool: "get_depth", toolCallId: call.toolCallId, output: "9 metres" });
    await waitUntil(() => expect(joinText(page.getLast())).toContain("9 metres"));
    expect(scenario.chatRequests).toHaveLength(2);
  });

  test.each([
    [true, "7 metres", 1],
    [false, "denied", 0],
  ])("A call that needs approval runs only after it (%s)", async (approved, text, runs) => {
    let count = 0;
    const scenario = createScenario();
    const page = openPage(scenario, {
      tools: {
        get_depth: measureDepth(() => {
          count += 1;
          return "7 metres";
        }),
      },
      needsApproval: ({ toolName }) => toolName === "get_depth",
    });
    void page.getChat().sendMessage({ text: "Use get_depth for the Elbe" });
    await waitUntil(() =>
      expect(page.getLast()?.parts).toContainEqual(expect.objectContaining({ state: "approval-requested" })),
    );
    await page.waitForStatus("ready");
    expect(count).toBe(0);
    const call = page.getLast()?.parts.find((part) => "approval" in part && part.approval) as {
      approval: { id: string };
    };
    void page.getChat().addToolApprovalResponse({ id: call.approval.id, approved });
    await waitUntil(() => expect(scenario.chatRequests).toHaveLength(2));
    await page.waitForStatus("ready");
    expect(JSON.stringify(scenario.chatRequests[1])).toContain(text);
    expect(count).toBe(runs);
    expect(scenario.chatRequests).toHaveLength(2);
  });

  test.each([
    ["an error", new Error("no such river")],
    ["a plain object", { code: 404, message: "no such river" }],
  ])("the model gets the message of %s that a tool throws", async (_, thrown) => {
    const scenario = createScenario();
    const page = openPage(scenario, {
      tools: {
        get_depth: measureDepth(() => {
          throw thrown;
        }),
      },
    });
    void page.getChat().sendMessage({ text: "Use get_depth for the Elbe" });
    await waitUntil(() => expect(scenario.chatRequests).toHaveLength(2));
    await page.waitForStatus("ready");
    expect(JSON.stringify(scenario.chatRequests[1])).toContain("no such river");
  });

  test.each([
    ["cut", undefined, "error"],
    ["without a finish_reason", "data: [DONE]\n\n", "ready"],
    ["cut at its length", toEndFrames("length"), "ready"],
  ])("A message %s runs no tool, and nothing more is sent", async (_, end, status) => {
    let runs = 0;
    const scenario = createScenario({ storesStreams: false });
    scenario.writeByHand();
    const page = openPage(scenario, { tools: { get_depth: measureDepth(() => ++runs) } });
    void page.getChat().sendMessage({ text: "Hello" });
    await waitUntil(() => expect(scenario.written).toHaveLength(1));
    const [response] = scenario.written;
    response?.write(toCallFrame("get_depth", { river: "Elbe" }));
    await waitUntil(() =>
      expect(page.getLast()?.parts).toContainEqual(expect.objectContaining({ state: "input-streaming" })),
    );
    if (end) {
      response?.write(end);
      response?.end();
    } else response?.cut();
    await waitUntil(() => expect(page.finished).toHaveLength(1));
    await page.waitForStatus(status);
    expect(runs).toBe(0);
    expect(scenario.chatRequests).toHaveLength(1);
  });

  test("A model that keeps calling tools is stopped at the limit of steps", async () => {
    const scenario = createScenario({
      emulator: { chat: () => ({ toolCalls: [{ name: "get_depth", arguments: { river: "Elbe" } }] }) },
    });
    const page = openPage(scenario, { tools: { get_depth: measureDepth() }, maxSteps: 3 });
    void page.getChat().sendMessage({ text: "Hello" });
    await page.waitForStatus("error");
    expect(page.getChat().error?.message).toContain("the limit of 3 responses");
    expect(scenario.chatRequests).toHaveLength(3);
  });
});
