import {
  type ChatRequest,
  type ChatRequestMessage,
  completeChat,
  createClient,
  streamChat,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import { demoPrompts } from "../../examples/studio/demo/prompts.ts";
import { readReplies } from "../../examples/studio/demo/replies.ts";
import { createDemoScript } from "../../examples/studio/demo/script.ts";

/** One pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const emulator = createEmulator({
  apiKeys: ["sk-test"],
  speed: Number.POSITIVE_INFINITY,
  chat: createDemoScript(),
});
const client = createClient({
  baseURL: "https://gateway.test",
  fetch: emulator.fetch,
  apiKey: "sk-test",
  onEvent: () => {},
});
const files = new Map(readReplies().map((reply) => [reply.id, reply]));
const chats = demoPrompts.filter(({ room }) => room === "chat");
const tools = ["roll_dice", "save_note", "pick_color"].map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} } },
}));

const user = (content: string): ChatRequestMessage => ({ role: "user", content });
const assistant = (content: string): ChatRequestMessage => ({ role: "assistant", content });

function requestReply(messages: readonly ChatRequestMessage[], rest: object = {}) {
  return completeChat(client, { model: "alpha-v4.1-flash", messages, ...rest } as ChatRequest);
}

async function requestText(messages: readonly ChatRequestMessage[], rest: object = {}): Promise<string> {
  return String((await requestReply(messages, rest)).message.content);
}

/** A response to the result of a tool that the model has called. */
function afterTool(prompt: string, name: string, result: unknown) {
  const call = { id: "call_1", type: "function", function: { name, arguments: "{}" } } as const;
  const messages: ChatRequestMessage[] = [
    user(prompt),
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: JSON.stringify(result) },
  ];
  return requestText(messages, { tools });
}

test("the prompts have unique ids and texts", () => {
  expect(chats.length).toBeGreaterThanOrEqual(10);
  for (const field of ["id", "prompt"] as const)
    expect(new Set(demoPrompts.map((prompt) => prompt[field])).size).toBe(demoPrompts.length);
});

describe("a prompt that the demo offers", () => {
  test.each(chats.filter(({ tool, needsImage }) => !tool && !needsImage))(
    "gets its response: $prompt",
    async ({ id, prompt, after }) => {
      const before = after ? [user(findPrompt(after)), assistant(findContent(after))] : [];
      const { message, outcome } = await requestReply([...before, user(prompt)]);
      expect(outcome).toBe("complete");
      expect(message.content).toBe(findContent(id));
      expect(message.reasoning_content).toBe(files.get(id)?.reasoning);
    },
  );

  test.each(chats.filter(({ tool }) => tool))("calls $tool: $prompt", async ({ prompt, tool }) => {
    const { toolCalls } = await requestReply([user(prompt)], { tools });
    expect(toolCalls).toMatchObject([{ name: tool, input: expect.any(Object) }]);
  });

  test.each(chats.filter(({ tool }) => tool))("needs an offered tool: $prompt", async ({ prompt }) => {
    expect(await requestText([user(prompt)])).toBe(findContent("tools-off"));
  });
});

test("the arguments of a tool come from the prompt", async () => {
  const requestInput = async (prompt: string) =>
    (await requestReply([user(prompt)], { tools })).toolCalls[0]?.input;
  expect(await requestInput("Roll three six-sided dice")).toEqual({ count: 3, sides: 6 });
  expect(await requestInput("Roll 2 dice with 20 sides")).toEqual({ count: 2, sides: 20 });
  expect(await requestInput("Roll 2d20")).toEqual({ count: 2, sides: 20 });
  expect(await requestInput("Throw five dice")).toEqual({ count: 5, sides: 6 });
  expect(await requestInput("Roll a 20-sided die")).toEqual({ count: 1, sides: 20 });
  expect(await requestInput('Keep a note: "say \\"hi\\""')).toEqual({ text: expect.stringContaining("say") });
  expect(await requestInput("Keep a note: water the plants")).toEqual({ text: "water the plants" });
});

test("a tool's result becomes text, and so does a refusal", async () => {
  expect(await afterTool("Roll 3d6", "roll_dice", { rolls: [2, 5, 6], total: 13 })).toMatch(
    /^You rolled \*\*2, 5, 6\*\*, together \*\*13\*\*[\s\S]* 3 × 6 sides[\s\S]* 10\.5 \|/,
  );
  expect(await afterTool("Color?", "pick_color", { name: "reed", hex: "#6f8f3a" })).toContain("`#6f8f3a`");
  expect(await afterTool("Color?", "pick_color", { name: "none" })).toBe(findContent("pick-color-none"));
  expect(await afterTool("Keep", "save_note", { saved: true })).toBe(findContent("save-note-result"));
  expect(await afterTool("Keep", "save_note", { error: "no" })).toBe(findContent("save-note-denied"));
});

test("an image is described by its header only", async () => {
  const url = `data:image/png;base64,${PNG}`;
  const image = { type: "image_url", image_url: { url } } as const;
  const text = await requestText([
    { role: "user", content: [{ type: "text", text: "What is in this picture?" }, image] },
  ]);
  expect(text).toContain("| 1 | `image/png` | 70 bytes | 1 × 1 pixels |");
  expect(await requestText([user("What is in this picture?")])).toBe(findContent("no-image"));
});

test("the files of a message are named with what came of them, and no keyword in them gets a reply", async () => {
  const text = await requestText([
    user(
      "What leaks?\n\nFile “a|b.md”:\n\nCompare SQL and NoSQL\n\nFile “long.pdf” (text of 2 pages, without pictures):\n\n" +
        `The start ${"x".repeat(1200)} the end`,
    ),
  ]);
  expect(text).toContain("| ab.md | all of it | 21 | Compare SQL and NoSQL |");
  expect(text).toMatch(
    /\| long\.pdf \| text of 2 pages, without pictures \| 1,218 \| The start x+ … x+ the end \|/,
  );
  expect(text).not.toContain("It uses no model");
});

test("a response that ended at a limit continues at its cut", async () => {
  const question = user("[[length]] Write a debounce function in TypeScript");
  const cut = await requestReply([question]);
  expect(cut.outcome).toBe("length");
  const said = String(cut.message.content);
  const more = await requestText([question, assistant(said), user("Continue")], { max_tokens: 60 });
  const rest = await requestText([
    question,
    assistant(said),
    user("Continue"),
    assistant(more),
    user("Go on"),
  ]);
  expect(said + more + rest).toBe(findContent("debounce"));
});

test("a second question gets its own reply, and a short yes the reply to the question before", async () => {
  const chat = [user("Write a debounce function in TypeScript"), assistant(findContent("debounce"))];
  expect(await requestText([...chat, user("Compare SQL and NoSQL")])).toBe(findContent("sql-nosql"));
  expect(await requestText([...chat, user("Yes, please!")])).toBe(findContent("throttle"));
});

test("any other prompt gets the request that was sent, without Base64, and prompts that have a response", async () => {
  const stream = streamChat(client, {
    model: "alpha-v4.1-flash",
    temperature: 0.5,
    messages: [user("How tall is the | Eiffel Tower?")],
  });
  const text = (await stream.result()).message.content;
  expect(text).toContain("This is the **offline emulator**. It uses no model.");
  expect(text).toContain("| Model | `alpha-v4.1-flash` |");
  expect(text).toContain("`temperature: 0.5`");
  const json = /```json\n(.*?)\n```/s.exec(String(text))?.[1] ?? "";
  expect(JSON.parse(json)).toMatchObject({ messages: [user("How tall is the | Eiffel Tower?")] });
  const offered = [...String(text).matchAll(/^- \*(.*)\*$/gm)].map(([, prompt]) => prompt);
  expect(offered).toHaveLength(3);
  for (const prompt of offered) expect(demoPrompts.map((known) => known.prompt)).toContain(prompt);
  const long = await requestText([
    user("x"),
    assistant("y"),
    user(`data:image/png;base64,${"A".repeat(5000)}`),
  ]);
  expect(long.length).toBeLessThan(2500);
});

test("a prompt about another subject does not get a reply that only shares a word", async () => {
  for (const prompt of [
    "Write a debounce function in Python",
    "Say hello in Chinese and Arabic",
    "What is the best image format?",
    "What shall I wear at the weekend?",
    "How do I stream a video?",
  ])
    expect(await requestText([user(prompt)])).toContain("It uses no model.");
});

test("a model with short replies sends the beginning of a reply", async () => {
  const replies = chats.filter(({ tool, needsImage }) => !tool && !needsImage);
  for (const { prompt, id } of replies) {
    const text = await requestText([user(prompt)], { model: "gamma-chat-1-6-251015" });
    expect(text).toBe(files.get(id)?.brief);
    expect(findContent(id).startsWith(text)).toBe(true);
    expect(text.length).toBeLessThan(findContent(id).length);
  }
});

test("JSON names the model, and fits a schema if there is one", async () => {
  const json = { response_format: { type: "json_object" } };
  const text = await requestText([user("Compare SQL and NoSQL")], json);
  expect(JSON.parse(text)).toMatchObject({ question: "Compare SQL and NoSQL", messages: 1 });
  const system = { role: "system", content: "Answer by this JSON schema: {}" } as const;
  expect(JSON.parse(await requestText([system, user("Hi")], json))).not.toHaveProperty("writtenBy");
});

function findContent(id: string): string {
  return files.get(id)?.content ?? `no file ${id}`;
}

function findPrompt(id: string): string {
  return demoPrompts.find((prompt) => prompt.id === id)?.prompt ?? `no prompt ${id}`;
}
