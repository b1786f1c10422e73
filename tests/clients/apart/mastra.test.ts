import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import type { Access, Ask, Client, RiverTool } from "../client.ts";
import { riverSchema, toolInput } from "../rivers.ts";
import { testClient } from "../test-client.ts";

testClient("Mastra", (access): Client => {
  async function answer(ask: Ask, tools: readonly RiverTool[] = []) {
    const output = await agentOf(access, ask, tools).generate(saidIn(ask), optionsOf(ask));
    if (output.error) throw output.error;
    return { text: output.text, tokens: output.totalUsage.totalTokens, thinking: output.reasoningText };
  }

  async function stream(ask: Ask, tools: readonly RiverTool[] = []) {
    const output = await agentOf(access, ask, tools).stream(saidIn(ask), optionsOf(ask));
    let text = "";
    for await (const part of output.fullStream) {
      if (part.type === "error") throw part.payload.error;
      if (part.type !== "text-delta") continue;
      text += part.payload.text;
      ask.onPiece?.(part.payload.text);
    }
    return { text, tokens: (await output.totalUsage).totalTokens };
  }

  async function objectOf(ask: Ask, jsonPromptInjection: boolean) {
    const structuredOutput = { schema: riverSchema, jsonPromptInjection };
    const options = { ...optionsOf(ask), structuredOutput };
    const { object, error } = await agentOf(access, { ...ask, system: undefined }).generate(
      saidIn(ask),
      options,
    );
    if (error) throw error;
    return object;
  }

  return {
    answer: (ask) => answer(ask),
    stream: (ask) => stream(ask),
    runTools: answer,
    streamTools: stream,
    bySchema: (ask) => objectOf(ask, false),
    byJSON: (ask) => objectOf(ask, true),
  };
});

function agentOf({ baseURL, apiKey }: Access, { model, system }: Ask, tools: readonly RiverTool[] = []) {
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

function optionsOf({ maxTokens, temperature, stop, signal }: Ask) {
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

function saidIn({ turns, image }: Ask) {
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
