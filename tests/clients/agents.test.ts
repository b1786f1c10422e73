import {
  Agent,
  type AgentInputItem,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
  user,
} from "@openai/agents";
import type { Access, Ask, Client, RiverTool } from "./client.ts";
import { riverSchema, toolInput } from "./rivers.ts";
import { testClient } from "./test-client.ts";

// traces would go to their maker
setTracingDisabled(true);

testClient("OpenAI Agents SDK", (access): Client => {
  // the gateway has chat completions and no responses endpoint
  const runner = runnerOf(access, false);

  async function answer(ask: Ask, tools: readonly RiverTool[] = [], by = runner) {
    const { finalOutput, state } = await by.run(agentOf(ask, tools), inputOf(ask));
    return { text: finalOutput ?? "", tokens: state.usage.totalTokens };
  }

  async function stream(ask: Ask, tools: readonly RiverTool[] = []) {
    const { signal, onPiece } = ask;
    const result = await runner.run(agentOf(ask, tools), inputOf(ask), {
      stream: true,
      ...(signal && { signal }),
    });
    let text = "";
    for await (const piece of result.toTextStream()) {
      text += piece;
      onPiece?.(piece);
    }
    await result.completed;
    if (result.error) throw result.error;
    return { text, tokens: result.state.usage.totalTokens };
  }

  return {
    answer: (ask) => answer(ask),
    stream: (ask) => stream(ask),
    runTools: answer,
    streamTools: stream,
    async bySchema(ask) {
      const agent = new Agent({ name: "Guide", model: ask.model, outputType: riverSchema });
      return (await runner.run(agent, inputOf(ask))).finalOutput;
    },
    respond: (ask) => answer(ask, [], runnerOf(access, true)),
  };
});

function runnerOf({ apiKey, baseURL }: Access, useResponses: boolean): Runner {
  return new Runner({ modelProvider: new OpenAIProvider({ apiKey, baseURL, useResponses }) });
}

function agentOf({ model, system, maxTokens, temperature, stop }: Ask, tools: readonly RiverTool[]) {
  return new Agent({
    name: "Guide",
    model,
    ...(system !== undefined && { instructions: system }),
    modelSettings: {
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      // it has no setting for `stop` of its own
      ...(stop && { providerData: { stop } }),
    },
    tools: tools.map(({ name, description, run }) =>
      tool({ name, description, parameters: toolInput, execute: async ({ river }) => run(river) }),
    ),
  });
}

function inputOf({ turns, image }: Ask): AgentInputItem[] {
  return turns.map(({ role, text }, at) => {
    if (role === "assistant")
      return { role, status: "completed" as const, content: [{ type: "output_text" as const, text }] };
    if (!image || at < turns.length - 1) return user(text);
    return user([
      { type: "input_text", text },
      { type: "input_image", image },
    ]);
  });
}
