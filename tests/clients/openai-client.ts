import type OpenAI from "openai";
import type { Ask, Client, RiverTool } from "./client.ts";
import { messagesOf, riverJSONSchema, riverSchema, toolSchema } from "./rivers.ts";

type Thought = { readonly reasoning_content?: string | null };

/** The `openai` package, in its versions. */
export function openAIClient(openai: OpenAI): Client {
  const { completions } = openai.chat;

  function requestOf(ask: Ask, role?: "developer") {
    const { model, maxTokens, temperature, stop } = ask;
    return {
      model,
      messages: messagesOf(ask, role) as OpenAI.ChatCompletionMessageParam[],
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] }),
    };
  }

  async function answer(ask: Ask, role?: "developer") {
    const { choices, usage } = await completions.create(requestOf(ask, role), { signal: ask.signal });
    const message = choices[0]?.message;
    return {
      text: message?.content ?? "",
      tokens: usage?.total_tokens,
      thinking: (message as Thought | undefined)?.reasoning_content ?? undefined,
    };
  }

  return {
    answer: (ask) => answer(ask),
    asDeveloper: (ask) => answer(ask, "developer"),
    async stream({ onPiece, signal, ...ask }) {
      const request = { ...requestOf(ask), stream_options: { include_usage: true } };
      const stream = completions.stream(request, { signal });
      stream.on("content", (piece) => onPiece?.(piece));
      const { choices, usage } = await stream.finalChatCompletion();
      return { text: choices[0]?.message.content ?? "", tokens: usage?.total_tokens };
    },
    async callTool(ask, tool) {
      const { choices } = await completions.create({ ...requestOf(ask), tools: [toolOf(tool)] });
      const [call] = choices[0]?.message.tool_calls ?? [];
      if (call?.type !== "function") return undefined;
      return { name: call.function.name, input: JSON.parse(call.function.arguments) };
    },
    async runTools(ask, tools) {
      const runner = completions.runTools({ ...requestOf(ask), tools: tools.map(runnable) });
      return { text: (await runner.finalContent()) ?? "" };
    },
    async streamTools(ask, tools) {
      const runner = completions.runTools({ ...requestOf(ask), tools: tools.map(runnable), stream: true });
      return { text: (await runner.finalContent()) ?? "" };
    },
    async bySchema(ask) {
      const json_schema = { name: "river", strict: true, schema: riverJSONSchema };
      const { choices } = await completions.parse({
        ...requestOf(ask),
        response_format: { type: "json_schema", json_schema },
      });
      return JSON.parse(choices[0]?.message.content ?? "");
    },
    async byTool(ask) {
      const parameters = riverJSONSchema;
      const { choices } = await completions.create({
        ...requestOf(ask),
        tools: [{ type: "function", function: { name: "river", parameters } }],
        tool_choice: { type: "function", function: { name: "river" } },
      });
      const [call] = choices[0]?.message.tool_calls ?? [];
      return call?.type === "function" && JSON.parse(call.function.arguments);
    },
    async byJSON(ask) {
      const { choices } = await completions.create({
        ...requestOf(ask),
        response_format: { type: "json_object" },
      });
      return riverSchema.parse(JSON.parse(choices[0]?.message.content ?? ""));
    },
    async byFunctions(ask) {
      const { choices } = await completions.create({
        ...requestOf(ask),
        functions: [{ name: "river", parameters: riverJSONSchema }],
        function_call: { name: "river" },
      });
      return JSON.parse(choices[0]?.message.function_call?.arguments ?? "null");
    },
    async draw(model, prompt, n) {
      const { data = [] } = await openai.images.generate({ model, prompt, ...(n && { n }) });
      return data.map(({ url = "" }) => url);
    },
    async several(ask, n) {
      return (await completions.create({ ...requestOf(ask), n })).choices;
    },
    async respond({ model, turns }) {
      const { output_text } = await openai.responses.create({ model, input: turns[0]?.text ?? "" });
      return { text: output_text };
    },
    listModels: async () => (await openai.models.list()).data,
  };
}

function toolOf({ name, description }: RiverTool) {
  return { type: "function" as const, function: { name, description, parameters: toolSchema } };
}

function runnable(tool: RiverTool) {
  const { run } = tool;
  return {
    type: "function" as const,
    function: {
      ...toolOf(tool).function,
      parse: JSON.parse as (text: string) => { river: string },
      function: ({ river }: { river: string }) => run(river),
    },
  };
}
