import type OpenAI from "openai";
import type { ChatCall, Client, RiverTool } from "./client.ts";
import { riverJSONSchema, riverSchema, toMessages, toolSchema } from "./rivers.ts";

type Thought = { readonly reasoning_content?: string | null };

/** The `openai` package, in its versions. */
export function openAIClient(openai: OpenAI): Client {
  const { completions } = openai.chat;

  function toRequest(call: ChatCall, role?: "developer") {
    const { model, maxTokens, temperature, stop } = call;
    return {
      model,
      messages: toMessages(call, role) as OpenAI.ChatCompletionMessageParam[],
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(stop && { stop: [...stop] }),
    };
  }

  async function complete(call: ChatCall, role?: "developer") {
    const { choices, usage } = await completions.create(toRequest(call, role), { signal: call.signal });
    const message = choices[0]?.message;
    return {
      text: message?.content ?? "",
      tokens: usage?.total_tokens,
      thinking: (message as Thought | undefined)?.reasoning_content ?? undefined,
    };
  }

  return {
    complete: (call) => complete(call),
    asDeveloper: (call) => complete(call, "developer"),
    async stream({ onPiece, signal, ...call }) {
      const request = { ...toRequest(call), stream_options: { include_usage: true } };
      const stream = completions.stream(request, { signal });
      stream.on("content", (piece) => onPiece?.(piece));
      const { choices, usage } = await stream.finalChatCompletion();
      return { text: choices[0]?.message.content ?? "", tokens: usage?.total_tokens };
    },
    async callTool(given, tool) {
      const { choices } = await completions.create({ ...toRequest(given), tools: [toTool(tool)] });
      const [call] = choices[0]?.message.tool_calls ?? [];
      if (call?.type !== "function") return undefined;
      return { name: call.function.name, input: JSON.parse(call.function.arguments) };
    },
    async runTools(call, tools) {
      const runner = completions.runTools({ ...toRequest(call), tools: tools.map(runnable) });
      return { text: (await runner.finalContent()) ?? "" };
    },
    async streamTools(call, tools) {
      const runner = completions.runTools({ ...toRequest(call), tools: tools.map(runnable), stream: true });
      return { text: (await runner.finalContent()) ?? "" };
    },
    async bySchema(call) {
      const json_schema = { name: "river", strict: true, schema: riverJSONSchema };
      const { choices } = await completions.parse({
        ...toRequest(call),
        response_format: { type: "json_schema", json_schema },
      });
      return JSON.parse(choices[0]?.message.content ?? "");
    },
    async byTool(given) {
      const parameters = riverJSONSchema;
      const { choices } = await completions.create({
        ...toRequest(given),
        tools: [{ type: "function", function: { name: "river", parameters } }],
        tool_choice: { type: "function", function: { name: "river" } },
      });
      const [call] = choices[0]?.message.tool_calls ?? [];
      return call?.type === "function" && JSON.parse(call.function.arguments);
    },
    async byJSON(call) {
      const { choices } = await completions.create({
        ...toRequest(call),
        response_format: { type: "json_object" },
      });
      return riverSchema.parse(JSON.parse(choices[0]?.message.content ?? ""));
    },
    async byFunctions(call) {
      const { choices } = await completions.create({
        ...toRequest(call),
        functions: [{ name: "river", parameters: riverJSONSchema }],
        function_call: { name: "river" },
      });
      return JSON.parse(choices[0]?.message.function_call?.arguments ?? "null");
    },
    async draw(model, prompt, n) {
      const { data = [] } = await openai.images.generate({ model, prompt, ...(n && { n }) });
      return data.map(({ url = "" }) => url);
    },
    async several(call, n) {
      return (await completions.create({ ...toRequest(call), n })).choices;
    },
    async respond({ model, turns }) {
      const { output_text } = await openai.responses.create({ model, input: turns[0]?.text ?? "" });
      return { text: output_text };
    },
    listModels: async () => (await openai.models.list()).data,
  };
}

function toTool({ name, description }: RiverTool) {
  return { type: "function" as const, function: { name, description, parameters: toolSchema } };
}

function runnable(tool: RiverTool) {
  const { run } = tool;
  return {
    type: "function" as const,
    function: {
      ...toTool(tool).function,
      parse: JSON.parse as (text: string) => { river: string },
      function: ({ river }: { river: string }) => run(river),
    },
  };
}
