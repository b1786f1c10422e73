import { openAICompatible } from "@genkit-ai/compat-oai";
import { genkit, z } from "genkit";
import type { Access, ChatCall, Client, RiverTool } from "../client.ts";
import { testClient } from "../test-client.ts";

/** The object of the others, in the version of zod that it reads. */
const schema = z.object({ river: z.string().min(3), locks: z.number().int().min(0).max(7) });

testClient("Genkit", (access): Client => {
  const ai = createAI(access);

  async function complete(call: ChatCall, tools: readonly RiverTool[] = []) {
    const { text, usage, reasoning } = await ai.generate(toRequest(call, toTools(tools)));
    return { text, tokens: usage.totalTokens, thinking: reasoning };
  }

  async function stream(call: ChatCall, tools: readonly RiverTool[] = []) {
    const { stream: pieces, response } = ai.generateStream(toRequest(call, toTools(tools)));
    response.catch(() => undefined);
    let text = "";
    for await (const { text: piece } of pieces) {
      if (!piece) continue;
      text += piece;
      call.onPiece?.(piece);
    }
    return { text, tokens: (await response).usage.totalTokens };
  }

  function toTools(tools: readonly RiverTool[]) {
    const inputSchema = z.object({ river: z.string() });
    return tools.map(({ name, description, run }) =>
      ai.dynamicTool({ name, description, inputSchema, outputSchema: z.string() }, async ({ river }) =>
        run(river),
      ),
    );
  }

  return {
    complete: (call) => complete(call),
    stream: (call) => stream(call),
    runTools: complete,
    streamTools: stream,
    async callTool(given, tool) {
      const { toolRequests } = await ai.generate({
        ...toRequest(given, toTools([tool])),
        returnToolRequests: true,
      });
      const [call] = toolRequests;
      return call && { name: call.toolRequest.name, input: call.toolRequest.input };
    },
    // it writes the schema into the messages
    bySchema: async (call) => (await ai.generate({ ...toRequest(call), output: { schema } })).output,
  };
});

function createAI({ baseURL, apiKey }: Access) {
  return genkit({ plugins: [openAICompatible({ name: "gateway", apiKey, baseURL })] });
}

function toRequest(
  { model, turns, system, image, maxTokens, temperature, stop, signal }: ChatCall,
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
