import { type AxChatRequest, type AxChatResponse, type AxFunction, ai, ax } from "@ax-llm/ax";
import type { Access, Ask, Client, RiverTool } from "./client.ts";
import { riverJSONSchema, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("Ax", (access): Client => {
  async function ask1(ask: Ask, more: Partial<AxChatRequest<string>> = {}): Promise<AxChatResponse> {
    const given = { stream: false, ...(ask.signal && { abortSignal: ask.signal }) };
    const response = await aiOf(access, ask).chat({ ...requestOf(ask), ...more } as never, given);
    if (response instanceof ReadableStream) throw new Error("expected a whole answer");
    return response;
  }

  async function callOf(ask: Ask, more: Partial<AxChatRequest<string>>) {
    const [call] = (await ask1(ask, more)).results[0]?.functionCalls ?? [];
    if (!call) return undefined;
    const { name, params } = call.function;
    return { name, input: typeof params === "string" ? JSON.parse(params) : params };
  }

  return {
    async answer(ask) {
      const { results, modelUsage } = await ask1(ask);
      const [first] = results;
      return {
        text: first?.content ?? "",
        tokens: modelUsage?.tokens?.totalTokens,
        thinking: first?.thought,
      };
    },
    async stream(ask) {
      let text = "";
      let tokens: number | undefined;
      const given = { stream: true, ...(ask.signal && { abortSignal: ask.signal }) };
      const response = await aiOf(access, ask).chat(requestOf(ask) as never, given);
      if (!(response instanceof ReadableStream)) throw new Error("expected a stream");
      const reader = response.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        tokens = read.value.modelUsage?.tokens?.totalTokens ?? tokens;
        const piece = read.value.results[0]?.content;
        if (!piece) continue;
        text += piece;
        ask.onPiece?.(piece);
      }
      return { text, tokens };
    },
    callTool: (ask, { name, description }) =>
      callOf(ask, { functions: [{ name, description, parameters: described }] }),
    byTool: async (ask) =>
      (
        await callOf(ask, {
          functions: [{ name: "river", description: "A river", parameters: riverJSONSchema as never }],
          functionCall: { type: "function", function: { name: "river" } },
        })
      )?.input,
    async runTools(ask, tools) {
      const generate = ax("question:string -> answer:string", { functions: tools.map(toolOf) });
      const { answer } = await generate.forward(aiOf(access, ask), { question: ask.turns[0]?.text ?? "" });
      return { text: answer };
    },
  };
});

function aiOf({ apiKey, baseURL }: Access, { model }: Ask) {
  return ai({
    name: "openai-compatible",
    apiKey,
    apiURL: baseURL,
    config: { model },
    options: { debug: false },
  } as never);
}

function requestOf({ model, turns, system, image, maxTokens, temperature, stop }: Ask) {
  const chatPrompt = turns.map(({ role, text }, at) => {
    if (!image || at < turns.length - 1) return { role, content: text };
    const [, bytes = ""] = image.split(",");
    const picture = { type: "image" as const, mimeType: "image/png", image: bytes };
    return { role, content: [{ type: "text" as const, text }, picture] };
  });
  return {
    model,
    chatPrompt: [...(system === undefined ? [] : [{ role: "system", content: system }]), ...chatPrompt],
    modelConfig: {
      ...(maxTokens !== undefined && { maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stopSequences: [...stop] }),
    },
  } as AxChatRequest<string>;
}

/** The input of a tool. Each property has to have a description. */
const described = {
  ...toolSchema,
  properties: { river: { type: "string" as const, description: "The river" } },
};

function toolOf({ name, description, run }: RiverTool): AxFunction {
  const func = ({ river }: { river: string }) => run(river);
  return { name, description, parameters: described, func };
}
