import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import type { Access, ChatCall, Client, RiverTool } from "../client.ts";
import { riverSchema, toolInput } from "../rivers.ts";
import { testClient } from "../test-client.ts";

testClient("Mastra", (access): Client => {
  async function complete(call: ChatCall, tools: readonly RiverTool[] = []) {
    const output = await createAgent(access, call, tools).generate(toMessages(call), toOptions(call));
    if (output.error) throw output.error;
    return { text: output.text, tokens: output.totalUsage.totalTokens, thinking: output.reasoningText };
  }

  async function stream(call: ChatCall, tools: readonly RiverTool[] = []) {
    const output = await createAgent(access, call, tools).stream(toMessages(call), toOptions(call));
    let text = "";
    for await (const part of output.fullStream) {
      if (part.type === "error") throw part.payload.error;
      if (part.type !== "text-delta") continue;
      text += part.payload.text;
      call.onPiece?.(part.payload.text);
    }
    return { text, tokens: (await output.totalUsage).totalTokens };
  }

  async function requestObject(call: ChatCall, jsonPromptInjection: boolean) {
    const structuredOutput = { schema: riverSchema, jsonPromptInjection };
    const options = { ...toOptions(call), structuredOutput };
    const { object, error } = await createAgent(access, { ...call, system: undefined }).generate(
      toMessages(call),
      options,
    );
    if (error) throw error;
    return object;
  }

  return {
    complete: (call) => complete(call),
    stream: (call) => stream(call),
    runTools: complete,
    streamTools: stream,
    bySchema: (call) => requestObject(call, false),
    byJSON: (call) => requestObject(call, true),
  };
});

function createAgent(
  { baseURL, apiKey }: Access,
  { model, system }: ChatCall,
  tools: readonly RiverTool[] = [],
) {
  return new Agent({
    id: "guide",
    name: "Guide",
    instructions: system ?? "",
    model: { providerId: "gateway", modelId: model, url: baseURL, apiKey },
    tools: Object.fromEntries(
      tools.map(({ name: id, description, run }) => [
        id,
        createTool({ id, description, inputSchema: toolInput, execute: async ({ river }) => run(river) }),
      ]),
    ),
  });
}

function toOptions({ maxTokens, temperature, stop, signal }: ChatCall) {
  return {
    maxSteps: 3,
    modelSettings: {
      // none by default
      maxRetries: 2,
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stopSequences: [...stop] }),
    },
    ...(signal && { abortSignal: signal }),
  };
}

function toMessages({ turns, image }: ChatCall) {
  return turns.map(({ role, text }, at) => {
    if (!image || at < turns.length - 1) return { role, content: text };
    return {
      role,
      content: [
        { type: "text", text },
        { type: "image", image, mimeType: "image/png" },
      ],
    };
  }) as never;
}
