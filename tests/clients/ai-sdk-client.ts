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
import type { Ask, Client, RiverTool } from "./client.ts";
import { riverSchema, toolInput } from "./rivers.ts";

/** The models of one provider of the AI SDK. */
interface Models {
  readonly chat: (id: string) => LanguageModel;
  readonly image: (id: string) => ImageModel;
}

/** The AI SDK, with one of its providers. */
export function aiSDKClient({ chat, image }: Models): Client {
  function requestOf({ model, turns, system, image: shown, maxTokens, temperature, stop, signal }: Ask) {
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

  async function answer(ask: Ask, tools?: ReturnType<typeof toolsOf>) {
    const result = await generateText({
      ...requestOf(ask),
      ...(tools && { tools, stopWhen: stepCountIs(3) }),
    });
    return { text: result.text, tokens: result.usage.totalTokens, thinking: result.reasoningText };
  }

  async function stream(ask: Ask, tools?: ReturnType<typeof toolsOf>) {
    const result = streamText({
      ...requestOf(ask),
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
      ask.onPiece?.(part.text);
    }
    return { text, tokens };
  }

  return {
    answer: (ask) => answer(ask),
    stream: (ask) => stream(ask),
    async callTool(ask, { name, description }) {
      const tools = { [name]: tool({ description, inputSchema: toolInput }) };
      const { toolCalls } = await generateText({ ...requestOf(ask), tools });
      const [call] = toolCalls;
      return call && { name: call.toolName, input: call.input };
    },
    runTools: (ask, tools) => answer(ask, toolsOf(tools)),
    streamTools: (ask, tools) => stream(ask, toolsOf(tools)),
    async bySchema(ask) {
      return (await generateText({ ...requestOf(ask), output: Output.object({ schema: riverSchema }) }))
        .output;
    },
    async byTool(ask) {
      const tools = { river: tool({ inputSchema: riverSchema }) };
      const { toolCalls } = await generateText({ ...requestOf(ask), tools, toolChoice: "required" });
      return toolCalls[0]?.input;
    },
    async byJSON(ask) {
      return (await generateText({ ...requestOf(ask), output: Output.json() })).output;
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

function toolsOf(tools: readonly RiverTool[]) {
  return Object.fromEntries(
    tools.map(({ name, description, run }) => [
      name,
      tool({ description, inputSchema: toolInput, execute: async ({ river }) => run(river) }),
    ]),
  );
}
