import { chat, maxIterations, toolDefinition } from "@tanstack/ai";
import { openaiCompatible } from "@tanstack/ai-openai/compatible";
import type { ChatCall, Client, RiverTool } from "./client.ts";
import { chatModels } from "./gateway.ts";
import { riverSchema, toolInput } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("TanStack AI", (access): Client => {
  const settings = { ...access, name: "gateway", models: chatModels };
  const gateway = openaiCompatible(settings);
  const responses = openaiCompatible({ ...settings, api: "responses" });

  async function run(call: ChatCall, tools: readonly RiverTool[] = [], by = gateway) {
    let text = "";
    let thinking = "";
    let tokens: number | undefined;
    for await (const chunk of chat({ ...toRequest(call, by), tools: tools.map(toTool) })) {
      if (chunk.type === "RUN_ERROR") throw new Error(chunk.message);
      if (chunk.type === "REASONING_MESSAGE_CONTENT") thinking += chunk.delta;
      if (chunk.type === "RUN_FINISHED") tokens = countTokens(chunk.usage) ?? tokens;
      if (chunk.type !== "TEXT_MESSAGE_CONTENT") continue;
      text += chunk.delta;
      call.onPiece?.(chunk.delta);
    }
    return { text, tokens, thinking };
  }

  return {
    complete: (call) => run(call),
    stream: (call) => run(call),
    runTools: run,
    streamTools: run,
    bySchema: (call) => chat({ ...toRequest(call, gateway), outputSchema: riverSchema }),
    async byJSON(call) {
      const { modelOptions, ...rest } = toRequest(call, gateway);
      const format = { response_format: { type: "json_object" } };
      return JSON.parse(await chat({ ...rest, modelOptions: { ...modelOptions, ...format }, stream: false }));
    },
    respond: (call) => run(call, [], responses),
  };
});

function toRequest(call: ChatCall, by: ReturnType<typeof openaiCompatible<typeof chatModels>>) {
  const { model, turns, system, image, maxTokens, temperature, stop, signal } = call;
  const abortController = new AbortController();
  signal?.addEventListener("abort", () => abortController.abort());
  const messages = turns.map(({ role, text }, at) => {
    if (!image || at < turns.length - 1) return { role, content: text };
    const [, value = ""] = image.split(",");
    const imagePart = {
      type: "image" as const,
      source: { type: "data" as const, value, mimeType: "image/png" },
    };
    return { role, content: [{ type: "text" as const, content: text }, imagePart] };
  });
  return {
    adapter: by(model as (typeof chatModels)[number]),
    messages,
    ...(system !== undefined && { systemPrompts: [system] }),
    modelOptions: {
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop }),
    },
    abortController,
    agentLoopStrategy: maxIterations(3),
    debug: false,
  };
}

function toTool({ name, description, run }: RiverTool) {
  return toolDefinition({ name, description, inputSchema: toolInput }).server(async ({ river }) =>
    run(river),
  );
}

function countTokens(usage: unknown): number | undefined {
  const [first] = [usage].flat() as { totalTokens?: number }[];
  return first?.totalTokens;
}
