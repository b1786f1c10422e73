import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Access, ChatCall, Client } from "./client.ts";
import { riverJSONSchema, toMessages, toolSchema } from "./rivers.ts";
import { testClient } from "./test-client.ts";

interface Choice {
  readonly message: Message;
  readonly delta: { readonly content?: string };
}
interface Message {
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}
interface Body {
  readonly choices: readonly Choice[];
  readonly usage?: { readonly total_tokens: number };
  readonly data?: readonly { readonly url: string }[];
  readonly error?: { readonly message: string };
}

testClient("curl", (access): Client => {
  async function create(call: ChatCall, more: object = {}, role?: "developer"): Promise<Body> {
    const lines: string[] = [];
    for await (const line of run(access, "/chat/completions", createBody(call, more, role))) lines.push(line);
    return JSON.parse(lines.join("\n"));
  }
  const readMessage = async (completion: Promise<Body>) => (await completion).choices[0]?.message;
  const readJSON = async (completion: Promise<Body>) =>
    JSON.parse((await readMessage(completion))?.content ?? "");
  const readToolCall = async (completion: Promise<Body>) => {
    const [call] = (await readMessage(completion))?.tool_calls ?? [];
    return call && { name: call.function.name, input: JSON.parse(call.function.arguments) };
  };
  async function complete(call: ChatCall, role?: "developer") {
    const { choices, usage } = await create(call, {}, role);
    const { content = "", reasoning_content: thinking } = choices[0]?.message ?? {};
    return { text: content ?? "", tokens: usage?.total_tokens, thinking };
  }
  async function bodyAt(path: string, body?: object): Promise<Body> {
    const lines: string[] = [];
    for await (const line of run(access, path, body)) lines.push(line);
    return JSON.parse(lines.join("\n"));
  }

  return {
    complete: (call) => complete(call),
    asDeveloper: (call) => complete(call, "developer"),
    async stream(call) {
      let text = "";
      let tokens: number | undefined;
      const body = createBody(call, { stream: true, stream_options: { include_usage: true } });
      for await (const line of run(access, "/chat/completions", body, call.signal)) {
        if (!line.startsWith("data: {")) continue;
        const { choices, usage, error }: Partial<Body> = JSON.parse(line.slice("data: ".length));
        if (error) throw new Error(error.message);
        tokens = usage?.total_tokens ?? tokens;
        const piece = choices?.[0]?.delta.content;
        if (!piece) continue;
        text += piece;
        call.onPiece?.(piece);
      }
      return { text, tokens };
    },
    callTool: (call, { name, description }) =>
      readToolCall(
        create(call, {
          tools: [{ type: "function", function: { name, description, parameters: toolSchema } }],
        }),
      ),
    bySchema: (call) =>
      readJSON(
        create(call, {
          response_format: { type: "json_schema", json_schema: { name: "river", schema: riverJSONSchema } },
        }),
      ),
    async byTool(call) {
      const tools = [{ type: "function", function: { name: "river", parameters: riverJSONSchema } }];
      return (await readToolCall(create(call, { tools, tool_choice: "required" })))?.input;
    },
    byJSON: (call) => readJSON(create(call, { response_format: { type: "json_object" } })),
    async byFunctions(call) {
      const functions = [{ name: "river", parameters: riverJSONSchema }];
      return readJSON(create(call, { functions, function_call: { name: "river" } }));
    },
    several: async (call, n) => (await create(call, { n })).choices,
    async draw(model, prompt, n) {
      const { data = [] } = await bodyAt("/images/generations", { model, prompt, ...(n && { n }) });
      return data.map(({ url }) => url);
    },
    respond: async ({ model }) => ({
      text: JSON.stringify(await bodyAt("/responses", { model, input: "x" })),
    }),
    listModels: () => bodyAt("/models"),
  };
});

function createBody(call: ChatCall, more: object, role?: "developer"): object {
  const { model, maxTokens, temperature, stop } = call;
  const [only, ...others] = stop ?? [];
  return {
    model,
    messages: toMessages(call, role),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stop && { stop: others.length > 0 ? stop : only }),
    ...more,
  };
}

/** Runs curl, and returns the lines that it prints. Without a body it is a `GET`. */
async function* run({ baseURL, apiKey }: Access, path: string, body?: object, signal?: AbortSignal) {
  const sent = body ? ["-H", "content-type: application/json", "-d", "@-"] : [];
  const options = ["-sS", "-N", "--fail-with-body", "--retry", "2", "-H", `authorization: Bearer ${apiKey}`];
  const child = spawn("curl", [...options, ...sent, baseURL + path], { ...(signal && { signal }) });
  const closed = once(child, "close");
  // the abort kills curl, perhaps before all its output is read
  closed.catch(() => undefined);
  child.stdin.end(body && JSON.stringify(body));
  let output = "";
  child.stderr.on("data", (piece) => {
    output += piece;
  });
  let last = "";
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    yield line;
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`${last} ${output}`);
}
