import {
  Agent,
  type AgentInputItem,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
  user,
} from "@openai/agents";
import type { Access, ChatCall, Client, RiverTool } from "./client.ts";
import { riverSchema, toolInput } from "./rivers.ts";
import { testClient } from "./test-client.ts";

// traces would go to their maker
setTracingDisabled(true);

testClient("OpenAI Agents SDK", (access): Client => {
  // the gateway has chat completions and no responses endpoint
  const runner = createRunner(access, false);

  async function complete(call: ChatCall, tools: readonly RiverTool[] = [], by = runner) {
    const { finalOutput, state } = await by.run(createAgent(call, tools), toInput(call));
    return { text: finalOutput ?? "", tokens: state.usage.totalTokens };
  }

  async function stream(call: ChatCall, tools: readonly RiverTool[] = []) {
    const { signal, onPiece } = call;
    const result = await runner.run(createAgent(call, tools), toInput(call), {
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
    complete: (call) => complete(call),
    stream: (call) => stream(call),
    runTools: complete,
    streamTools: stream,
    async bySchema(call) {
      const agent = new Agent({ name: "Guide", model: call.model, outputType: riverSchema });
      return (await runner.run(agent, toInput(call))).finalOutput;
    },
    respond: (call) => complete(call, [], createRunner(access, true)),
  };
});

function createRunner({ apiKey, baseURL }: Access, useResponses: boolean): Runner {
  return new Runner({ modelProvider: new OpenAIProvider({ apiKey, baseURL, useResponses }) });
}

function createAgent({ model, system, maxTokens, temperature, stop }: ChatCall, tools: readonly RiverTool[]) {
  return new Agent({
    name: "Guide",
    model,
    ...(system !== undefined && { instructions: system }),
    modelSettings: {
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      // it lacks a setting for `stop`
      ...(stop && { providerData: { stop } }),
    },
    tools: tools.map(({ name, description, run }) =>
      tool({ name, description, parameters: toolInput, execute: async ({ river }) => run(river) }),
    ),
  });
}

function toInput({ turns, image }: ChatCall): AgentInputItem[] {
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
