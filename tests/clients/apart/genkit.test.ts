import { openAICompatible } from "@genkit-ai/compat-oai";
import { genkit, z } from "genkit";
import type { Access, Ask, Client, RiverTool } from "../client.ts";
import { testClient } from "../test-client.ts";

/** The object of the others, in the version of zod that it reads. */
const schema = z.object({ river: z.string().min(3), locks: z.number().int().min(0).max(7) });

testClient("Genkit", (access): Client => {
  const ai = aiOf(access);

  async function answer(ask: Ask, tools: readonly RiverTool[] = []) {
    const { text, usage, reasoning } = await ai.generate(requestOf(ask, toolsOf(tools)));
    return { text, tokens: usage.totalTokens, thinking: reasoning };
  }

  async function stream(ask: Ask, tools: readonly RiverTool[] = []) {
    const { stream: pieces, response } = ai.generateStream(requestOf(ask, toolsOf(tools)));
    response.catch(() => undefined);
    let text = "";
    for await (const { text: piece } of pieces) {
      if (!piece) continue;
      text += piece;
      ask.onPiece?.(piece);
    }
    return { text, tokens: (await response).usage.totalTokens };
  }

  function toolsOf(tools: readonly RiverTool[]) {
    const inputSchema = z.object({ river: z.string() });
    return tools.map(({ name, description, run }) =>
      ai.dynamicTool({ name, description, inputSchema, outputSchema: z.string() }, async ({ river }) =>
        run(river),
      ),
    );
  }

  return {
    answer: (ask) => answer(ask),
    stream: (ask) => stream(ask),
    runTools: answer,
    streamTools: stream,
    async callTool(ask, tool) {
      const { toolRequests } = await ai.generate({
        ...requestOf(ask, toolsOf([tool])),
        returnToolRequests: true,
      });
      const [call] = toolRequests;
      return call && { name: call.toolRequest.name, input: call.toolRequest.input };
    },
    // it writes the schema into the messages
    bySchema: async (ask) => (await ai.generate({ ...requestOf(ask), output: { schema } })).output,
  };
});

function aiOf({ baseURL, apiKey }: Access) {
  return genkit({ plugins: [openAICompatible({ name: "gateway", apiKey, baseURL })] });
}

function requestOf(
  { model, turns, system, image, maxTokens, temperature, stop, signal }: Ask,
  tools: unknown[] = [],
) {
  const messages = turns.map(({ role, text }, at) => ({
    role: role === "user" ? ("user" as const) : ("model" as const),
    content: [{ text }, ...(image && at === turns.length - 1 ? [{ media: { url: image } }] : [])],
  }));
  return {
    model: `gateway/${model}`,
    messages,
    ...(system !== undefined && { system }),
    ...(tools.length > 0 && { tools: tools as never[] }),
    ...(signal && { abortSignal: signal }),
    config: {
      // `maxOutputTokens` is not sent; the names of the wire are
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stopSequences: [...stop] }),
    },
  };
}
