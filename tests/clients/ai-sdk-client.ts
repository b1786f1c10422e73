import {
  generateImage,
  generateText,
  type ImageModel,
  type LanguageModel,
  type ModelMessage,
  Output,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import type { ChatCall, Client, RiverTool } from "./client.ts";
import { riverSchema, toolInput } from "./rivers.ts";

/** The models of one provider of the AI SDK. */
interface Models {
  readonly chat: (id: string) => LanguageModel;
  readonly image: (id: string) => ImageModel;
}

/** The AI SDK, with one of its providers. */
export function aiSDKClient({ chat, image }: Models): Client {
  function toRequest({ model, turns, system, image: shown, maxTokens, temperature, stop, signal }: ChatCall) {
    const messages = turns.map(({ role, text }, at) => {
      if (role === "assistant" || !shown || at < turns.length - 1) return { role, content: text };
      return {
        role,
        content: [
          { type: "text" as const, text },
          { type: "file" as const, data: shown, mediaType: "image/png" },
        ],
      };
    }) as ModelMessage[];
    return {
      model: chat(model),
      messages,
      ...(system !== undefined && { system }),
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stopSequences: [...stop] }),
      ...(signal && { abortSignal: signal }),
    };
  }

  async function complete(call: ChatCall, tools?: ReturnType<typeof toTools>) {
    const result = await generateText({
      ...toRequest(call),
      ...(tools && { tools, stopWhen: stepCountIs(3) }),
    });
    return { text: result.text, tokens: result.usage.totalTokens, thinking: result.reasoningText };
  }

  async function stream(call: ChatCall, tools?: ReturnType<typeof toTools>) {
    const result = streamText({
      ...toRequest(call),
      ...(tools && { tools, stopWhen: stepCountIs(3) }),
      // errors come as parts of the stream
      onError: () => undefined,
    });
    let text = "";
    let tokens: number | undefined;
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "finish") tokens = part.totalUsage.totalTokens;
      if (part.type !== "text-delta") continue;
      text += part.text;
      call.onPiece?.(part.text);
    }
    return { text, tokens };
  }

  return {
    complete: (call) => complete(call),
    stream: (call) => stream(call),
    async callTool(given, { name, description }) {
      const tools = { [name]: tool({ description, inputSchema: toolInput }) };
      const { toolCalls } = await generateText({ ...toRequest(given), tools });
      const [call] = toolCalls;
      return call && { name: call.toolName, input: call.input };
    },
    runTools: (call, tools) => complete(call, toTools(tools)),
    streamTools: (call, tools) => stream(call, toTools(tools)),
    async bySchema(call) {
      return (await generateText({ ...toRequest(call), output: Output.object({ schema: riverSchema }) }))
        .output;
    },
    async byTool(call) {
      const tools = { river: tool({ inputSchema: riverSchema }) };
      const { toolCalls } = await generateText({ ...toRequest(call), tools, toolChoice: "required" });
      return toolCalls[0]?.input;
    },
    async byJSON(call) {
      return (await generateText({ ...toRequest(call), output: Output.json() })).output;
    },
    async draw(model, prompt, n) {
      const { images } = await generateImage({
        model: image(model),
        prompt,
        ...(n && { n, maxImagesPerCall: n }),
      });
      return images.map(({ uint8Array }) => uint8Array);
    },
  };
}

function toTools(tools: readonly RiverTool[]) {
  return Object.fromEntries(
    tools.map(({ name, description, run }) => [
      name,
      tool({ description, inputSchema: toolInput, execute: async ({ river }) => run(river) }),
    ]),
  );
}
