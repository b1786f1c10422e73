import type { AbstractAgent, AGUIEvent, Message } from "@ag-ui/client";
import type { Client } from "@sluice/core";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createScenario, toEndFrames, toTextFrame } from "../../packages/ai-sdk/test/support/scenario.js";
import { writeFilesOfExample } from "../support/page-files.ts";
import { numbered, openGateway } from "./gateway.ts";

/* The agent of the guide "AG-UI", run by the newest client of the protocol. */

type Agent = AbstractAgent & { streamId: string | undefined };
interface Page {
  SluiceAgent: new (client: Client, model: string) => Agent;
}

const files = writeFilesOfExample("ag-ui");
const { SluiceAgent } = await files<Page>("sluice-agent.ts");
let gateway: ReturnType<typeof openGateway>;

beforeEach(() => {
  gateway = openGateway({ chat: numbered() });
});

function createAgent({ client }: { client: Client } = gateway) {
  const agent = new SluiceAgent(client, "alpha-v4.1-flash");
  const events: AGUIEvent[] = [];
  agent.subscribe({ onEvent: ({ event }) => void events.push(event as AGUIEvent) });
  return { agent, events, types: () => events.map(({ type }) => type) };
}

const sendMessage = (content: Extract<Message, { role: "user" }>["content"]): Message => ({
  id: crypto.randomUUID(),
  role: "user",
  content,
});
const requests = () => gateway.emulator.requests;
const depth = {
  name: "get_depth",
  description: "Measures a depth",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
};

describe("an agent of AG-UI", () => {
  test("streams its reply, and the next run has the thread", async () => {
    const { agent, events, types } = createAgent();
    agent.addMessage(sendMessage("How deep is the sea?"));
    const { newMessages } = await agent.runAgent();
    expect(newMessages.at(-1)).toMatchObject({
      role: "assistant",
      content: expect.stringContaining("answer 1"),
    });
    expect(types().filter((type) => type === "TEXT_MESSAGE_CONTENT").length).toBeGreaterThan(3);
    expect(types().at(0)).toBe("RUN_STARTED");
    expect(events.at(-1)).toMatchObject({
      type: "RUN_FINISHED",
      usage: [{ outputTokens: expect.any(Number) }],
    });
    agent.addMessage(sendMessage("And the lake?"));
    await agent.runAgent();
    expect(requests()[1]?.body).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", content: expect.stringContaining("answer 1") },
        { content: "And the lake?" },
      ],
    });
  });

  test("shows the thinking as a separate message before the response", async () => {
    gateway = openGateway({ chat: () => ({ reasoning: "The user asks for depth.", content: "Deep." }) });
    const { agent } = createAgent();
    agent.addMessage(sendMessage("How deep is the sea?"));
    const { newMessages } = await agent.runAgent();
    expect(newMessages).toMatchObject([
      { role: "reasoning", content: "The user asks for depth." },
      { role: "assistant", content: "Deep." },
    ]);
  });

  test("calls a tool of the page, and continues with its result and its thinking", async () => {
    const { agent, types } = createAgent();
    agent.addMessage(sendMessage('Use the tool for "Mariana"'));
    const { newMessages } = await agent.runAgent({ tools: [depth] });
    const reply = newMessages.find((message) => message.role === "assistant");
    expect(reply?.toolCalls).toMatchObject([
      { function: { name: "get_depth", arguments: '{"place":"Mariana"}' } },
    ]);
    expect(types()).toEqual(expect.arrayContaining(["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]));
    const toolCallId = reply?.toolCalls?.[0]?.id as string;
    agent.addMessage({ id: "result", role: "tool", toolCallId, content: '{"metres":11000}' });
    const { newMessages: after } = await agent.runAgent({ tools: [depth] });
    expect(after.at(-1)).toMatchObject({ role: "assistant", content: expect.stringContaining("11000") });
    const thinking = newMessages.find((message) => message.role === "reasoning")?.content;
    expect(requests()[1]?.body).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", reasoning_content: thinking, tool_calls: [{ id: toolCallId }] },
        { role: "tool", tool_call_id: toolCallId },
      ],
    });
  });

  test("a response that is cut ends as an error, with its text so far", async () => {
    const { agent, events } = createAgent();
    agent.addMessage(sendMessage("Tell me of lakes [[truncate]]"));
    await agent.runAgent().catch(() => {});
    expect(events.at(-1)).toMatchObject({
      type: "RUN_ERROR",
      message: "The response was cut off",
      code: "StreamError",
    });
    expect(agent.messages.at(-1)).toMatchObject({ role: "assistant", content: expect.stringMatching(/./) });
  });

  test("a refusal ends as an error", async () => {
    const { agent, events } = createAgent();
    agent.addMessage(sendMessage("Tell me of wells [[429]]"));
    await agent.runAgent().catch(() => {});
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "APIError" });
  });

  test("abortRun ends the run as cancelled, and reaches the gateway", async () => {
    const { agent, events, types } = createAgent();
    agent.addMessage(sendMessage("Tell me of rivers [[stall]]"));
    const run = agent.runAgent();
    await expect.poll(types).toContain("TEXT_MESSAGE_CONTENT");
    agent.abortRun();
    await run;
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    await expect.poll(() => requests()[0]?.aborted).toBe(true);
  });

  test("sends images, and what the page tells of itself", async () => {
    const { agent } = createAgent();
    agent.addMessage(
      sendMessage([
        { type: "text", text: "What is this?" },
        { type: "image", source: { type: "data", value: "iVBORw==", mimeType: "image/png" } },
      ]),
    );
    await agent.runAgent({ context: [{ description: "The page", value: "an atlas" }] });
    expect(requests()[0]?.body).toMatchObject({
      messages: [
        { role: "system", content: "The page: an atlas" },
        { content: [{ text: "What is this?" }, { image_url: { url: "data:image/png;base64,iVBORw==" } }] },
      ],
    });
  });

  test("a page that is loaded again follows the response that its proxy stores", async () => {
    const scenario = createScenario();
    scenario.writeByHand();
    const before = scenario.openPage();
    const { agent, types } = createAgent(before);
    // without a network, the client of a page that is gone would try for half a minute
    onTestFinished(() => agent.abortRun());
    agent.addMessage(sendMessage("Tell me of rivers"));
    void agent.runAgent().catch(() => {});
    await expect.poll(() => scenario.written.length).toBe(1);
    scenario.written[0]?.write(toTextFrame("A river "));
    await expect.poll(types).toContain("TEXT_MESSAGE_CONTENT");
    const { messages, streamId, threadId } = agent;
    before.disconnect();

    const { agent: again, events } = createAgent(scenario.openPage());
    Object.assign(again, { threadId, streamId, messages: messages.slice(0, 1) });
    const followed = again.connectAgent();
    scenario.written[0]?.write(toTextFrame("runs.") + toEndFrames());
    scenario.written[0]?.end();
    const { newMessages } = await followed;
    expect(newMessages).toMatchObject([{ role: "assistant", content: "A river runs." }]);
    expect(events.at(-1)?.type).toBe("RUN_FINISHED");
    expect(scenario.chatRequests).toHaveLength(1);
  });

  test("a clone has the thread, and changes nothing in the first", async () => {
    const { agent } = createAgent();
    agent.addMessage(sendMessage("How deep is the sea?"));
    const copy: Agent = agent.clone();
    await copy.runAgent();
    expect([agent.messages.length, copy.messages.at(-1)?.role]).toEqual([1, "assistant"]);
    expect(copy.threadId).toBe(agent.threadId);
  });
});
