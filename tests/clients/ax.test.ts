import { type AxChatRequest, type AxChatResponse, type AxFunction, ai, ax } from "@ax-llm/ax";
import type { Access, ChatCall, Client, RiverTool } from "./client.ts";
import { riverJSONSchema, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

testClient("Ax", (access): Client => {
  async function ask1(call: ChatCall, more: Partial<AxChatRequest<string>> = {}): Promise<AxChatResponse> {
    const given = { stream: false, ...(call.signal && { abortSignal: call.signal }) };
    const response = await createAI(access, call).chat({ ...toRequest(call), ...more } as never, given);
    if (response instanceof ReadableStream) throw new Error("expected a whole response");
    return response;
  }

  async function requestToolCall(given: ChatCall, more: Partial<AxChatRequest<string>>) {
    const [call] = (await ask1(given, more)).results[0]?.functionCalls ?? [];
    if (!call) return undefined;
    const { name, params } = call.function;
    return { name, input: typeof params === "string" ? JSON.parse(params) : params };
  }

  return {
    async complete(call) {
      const { results, modelUsage } = await ask1(call);
      const [first] = results;
      return {
        text: first?.content ?? "",
        tokens: modelUsage?.tokens?.totalTokens,
        thinking: first?.thought,
      };
    },
    async stream(call) {
      let text = "";
      let tokens: number | undefined;
      const given = { stream: true, ...(call.signal && { abortSignal: call.signal }) };
      const response = await createAI(access, call).chat(toRequest(call) as never, given);
      if (!(response instanceof ReadableStream)) throw new Error("expected a stream");
      const reader = response.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        tokens = read.value.modelUsage?.tokens?.totalTokens ?? tokens;
        const piece = read.value.results[0]?.content;
        if (!piece) continue;
        text += piece;
        call.onPiece?.(piece);
      }
      return { text, tokens };
    },
    callTool: (call, { name, description }) =>
      requestToolCall(call, { functions: [{ name, description, parameters: described }] }),
    byTool: async (call) =>
      (
        await requestToolCall(call, {
          functions: [{ name: "river", description: "A river", parameters: riverJSONSchema as never }],
          functionCall: { type: "function", function: { name: "river" } },
        })
      )?.input,
    async runTools(call, tools) {
      const generate = ax("question:string -> answer:string", { functions: tools.map(toTool) });
      const { answer: text } = await generate.forward(createAI(access, call), {
        question: call.turns[0]?.text ?? "",
      });
      return { text };
    },
  };
});

function createAI({ apiKey, baseURL }: Access, { model }: ChatCall) {
  return ai({
    name: "openai-compatible",
    apiKey,
    apiURL: baseURL,
    config: { model },
    options: { debug: false },
  } as never);
}

function toRequest({ model, turns, system, image, maxTokens, temperature, stop }: ChatCall) {
  const chatPrompt = turns.map(({ role, text }, at) => {
    if (!image || at < turns.length - 1) return { role, content: text };
    const [, bytes = ""] = image.split(",");
    const imagePart = { type: "image" as const, mimeType: "image/png", image: bytes };
    return { role, content: [{ type: "text" as const, text }, imagePart] };
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

function toTool({ name, description, run }: RiverTool): AxFunction {
  const func = ({ river }: { river: string }) => run(river);
  return { name, description, parameters: described, func };
}
