import type { TaskWatch } from "@sluice/core";
import { chatModels } from "@sluice/core/extend";
import { type ChatStore, memoryStorage } from "@sluice/react";
import type { ProxyOptions } from "@sluice/worker-proxy";
import { createElement, type FC } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

/*
 * Beginners' mistakes in JavaScript, where no compiler helps: the error or the console names the field and the fix.
 * `type-errors.test.ts` has the errors of TypeScript.
 */

const messages = [{ role: "user", content: "Hello" }];
const chat = { model: "delta-5.3", messages };
const chatIds = Object.keys(chatModels).join(", ");
const seeing = { model: "alpha-v4.1-flash" };
const weather = { name: "weather", description: "The weather", inputSchema: { type: "object" } };

/** A program without types that makes mistakes. */
interface Program {
  /** Calls a function of the packages. */
  readonly call: (name: string, ...given: unknown[]) => unknown;
  readonly client: unknown;
  /** Streams a chat request to its end. */
  readonly stream: (request: unknown, options?: unknown) => unknown;
  /** Sends a message in a new chat, as a page does. The page shows other words to the user than the error has. */
  readonly send: (options: unknown, ...message: unknown[]) => Promise<void>;
  /** Renders a component that calls a hook. */
  readonly render: (use: () => unknown, client?: unknown) => unknown;
  /** Creates a proxy with some options, and sends it a request. */
  readonly proxy: (options: object) => Promise<unknown>;
}

type Mistake = readonly [title: string, make: (program: Program) => unknown, ...seen: string[]];

const mistakes: readonly Mistake[] = [
  // the client
  [
    "createClient without options",
    ({ call }) => call("createClient"),
    'baseURL: is missing; give the gateway\'s address, { baseURL: "https://gateway.example.com" }, or a path of the page\'s server, "/api"',
    "@sluice/core: createClient: must be an object: { baseURL, apiKey, headers, … } (options.unknown)",
  ],
  [
    "an address instead of options",
    ({ call }) => call("createClient", "https://gateway.test"),
    'baseURL: is missing; give the gateway\'s address, { baseURL: "https://gateway.example.com" }, or a path of the page\'s server, "/api"',
    "@sluice/core: createClient: must be an object: { baseURL, apiKey, headers, … } (options.unknown)",
  ],
  [
    "baseUrl for baseURL",
    ({ call }) => call("createClient", { baseUrl: "https://gateway.test" }),
    'baseURL: is missing; give the gateway\'s address, { baseURL: "https://gateway.example.com" }, or a path of the page\'s server, "/api"',
    "@sluice/core: createClient.baseUrl: is not an option of createClient; did you mean `baseURL`? (options.unknown)",
  ],
  [
    "an address without https",
    ({ call }) => call("createClient", { baseURL: "gateway.test" }),
    'baseURL: "gateway.test" is not a URL; give the gateway\'s address, { baseURL: "https://gateway.example.com" }, or a path of the page\'s server, "/api"',
  ],
  [
    "the address of one endpoint",
    ({ call }) => call("createClient", { baseURL: "https://gateway.test/v1/chat/completions" }),
    "baseURL: ends with the path of one endpoint; give what stands before it, https://gateway.test",
  ],
  [
    "a key from a variable that is not set",
    ({ call }) => call("createClient", { baseURL: "/api", apiKey: undefined }),
    "apiKey: is undefined; is the environment variable set? Leave the option out if a proxy adds the key",
  ],
  [
    "a key with Bearer",
    ({ call }) => call("createClient", { baseURL: "/api", apiKey: "Bearer sk-test" }),
    'apiKey: give the key alone: "Bearer " is added',
  ],
  [
    "timeout as in the OpenAI SDK",
    ({ call }) => call("createClient", { baseURL: "/api", timeout: 5000 }),
    "@sluice/core: createClient.timeout: must be an object: { firstChunkMs, chunkMs, totalMs } (options.unknown)",
  ],
  [
    "maxRetries as in the OpenAI SDK",
    ({ call }) => call("createClient", { baseURL: "/api", maxRetries: 3 }),
    "@sluice/core: createClient.maxRetries: is not an option of createClient; give `retry: { limit }` (options.unknown)",
  ],
  [
    "defaultHeaders as in the OpenAI SDK",
    ({ call }) => call("createClient", { baseURL: "/api", defaultHeaders: {} }),
    "@sluice/core: createClient.defaultHeaders: is not an option of createClient; give `headers` (options.unknown)",
  ],
  [
    "a fetch that is no function",
    ({ call }) => call("createClient", { baseURL: "/api", fetch: {} }),
    "@sluice/core: createClient.fetch: can't be used: give a function (options.kind)",
  ],
  // a request
  [
    "a request without a client",
    ({ call }) => call("completeChat", chat),
    "the first argument must be a client made by createClient()",
  ],
  [
    "the options of a client for a client",
    ({ call }) => call("completeChat", { baseURL: "/api" }, chat),
    "the first argument must be a client made by createClient()",
  ],
  [
    "no request",
    ({ stream }) => stream(undefined),
    `model: must be one of ${chatIds} (send one that is not listed with \`{ checks: false }\`)`,
  ],
  [
    "a text for a request",
    ({ stream }) => stream("Hello"),
    `model: must be one of ${chatIds} (send one that is not listed with \`{ checks: false }\`); write the request as an object: { model: "…", messages }`,
  ],
  [
    "prompt as in the AI SDK",
    ({ stream }) => stream({ model: "delta-5.3", prompt: "Hello" }),
    'messages: is required; write [{ role: "user", content: "Hello" }] in place of `prompt`',
  ],
  [
    "a model of another maker",
    ({ stream }) => stream({ ...chat, model: "gpt-4o" }),
    `model: must be one of ${chatIds} (send one that is not listed with \`{ checks: false }\`)`,
  ],
  [
    "a misspelt model",
    ({ stream }) => stream({ ...chat, model: "delta-5-3" }),
    `model: must be one of ${chatIds}; did you mean \`delta-5.3\`? (send one that is not listed with \`{ checks: false }\`)`,
  ],
  [
    "a video model in a chat",
    ({ stream }) => stream({ ...chat, model: "beta3.0-video" }),
    `model: must be one of ${chatIds} (send one that is not listed with \`{ checks: false }\`); beta3.0-video is a video model: use createVideoTask`,
  ],
  [
    "messages as a text",
    ({ stream }) => stream({ ...chat, messages: "Hello" }),
    'messages: expected Array, got "Hello"; write a list, [{ role: "user", content: "Hello" }]',
  ],
  [
    "one message instead of a list",
    ({ stream }) => stream({ ...chat, messages: messages[0] }),
    'messages: expected Array, got Object; write a list, [{ role: "user", content: "Hello" }]',
  ],
  [
    "messages as texts",
    ({ stream }) => stream({ ...chat, messages: ["Hello"] }),
    'messages.0: expected Object, got "Hello"; write { role: "user", content: "Hello" }',
  ],
  [
    "the role developer",
    ({ stream }) => stream({ ...chat, messages: [{ role: "developer", content: "Be brief" }] }),
    'messages.0.role: expected "system" | "user" | "assistant" | "tool", got "developer"; instructions have the role "system"',
  ],
  [
    "the role model",
    ({ stream }) => stream({ ...chat, messages: [{ role: "model", content: "Hello" }] }),
    'messages.0.role: expected "system" | "user" | "assistant" | "tool", got "model"; messages of the model have the role "assistant"',
  ],
  [
    "parts of the AI SDK",
    ({ stream }) =>
      stream({ ...chat, messages: [{ role: "user", parts: [{ type: "text", text: "Hello" }] }] }),
    "messages.0.content: is required; join the texts of `parts` into `content`",
  ],
  [
    "an image part of another SDK",
    ({ stream }) =>
      stream({
        ...seeing,
        messages: [{ role: "user", content: [{ type: "image", image: "https://a.test/a.png" }] }],
      }),
    'messages.0.content.0.type: expected "text" | "image_url", got "image"; write { type: "image_url", image_url: { url: "https://…" } }',
  ],
  [
    "an address for image_url",
    ({ stream }) =>
      stream({
        ...seeing,
        messages: [{ role: "user", content: [{ type: "image_url", image_url: "https://a.test/a.png" }] }],
      }),
    'messages.0.content.0.image_url: expected Object, got "https://a.test/a.png"; write { url: "https://…" }',
  ],
  [
    "input_text of the Responses API",
    ({ stream }) =>
      stream({ ...chat, messages: [{ role: "user", content: [{ type: "input_text", text: "Hello" }] }] }),
    'messages.0.content.0.type: must be "text": images are accepted only in user messages of models with image input; write { type: "text", text }',
  ],
  [
    "a tool_result part",
    ({ stream }) =>
      stream({
        ...seeing,
        messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "12" }] }],
      }),
    'messages.0.content.0.type: expected "text" | "image_url", got "tool_result"; a result is a message: { role: "tool", tool_call_id, content }',
  ],
  [
    "maxTokens",
    ({ stream }) => stream({ ...chat, maxTokens: 50 }),
    "@sluice/core: maxTokens: is not a known field of this model; did you mean `max_tokens`? (chat.delta.unknown-field)",
  ],
  [
    "a second wrong field",
    ({ stream }) => stream({ ...chat, maxTokens: 50, topP: 1 }),
    "@sluice/core: maxTokens: is not a known field of this model; did you mean `max_tokens`? (chat.delta.unknown-field)",
    "@sluice/core: topP: is not a known field of this model; did you mean `top_p`? (chat.delta.unknown-field)",
  ],
  [
    "max_completion_tokens",
    ({ stream }) => stream({ ...chat, max_completion_tokens: 50 }),
    "@sluice/core: max_completion_tokens: is not a known field of this model; give `max_tokens` (chat.delta.unknown-field)",
  ],
  [
    "a number as text",
    ({ stream }) => stream({ ...chat, temperature: "0.5" }),
    'temperature: expected number, got "0.5"',
  ],
  [
    "system as in other SDKs",
    ({ stream }) => stream({ ...chat, system: "Be brief" }),
    '@sluice/core: system: is not a known field of this model; begin `messages` with { role: "system", content: "…" }; a store has `instructions` (chat.delta.unknown-field)',
  ],
  [
    "a signal in the request",
    ({ stream }) => stream({ ...chat, signal: AbortSignal.timeout(60_000) }),
    "@sluice/core: signal: is not a known field of this model; it belongs in the last argument, { signal } (chat.delta.unknown-field)",
  ],
  [
    "several choices",
    ({ stream }) => stream({ ...chat, n: 2 }),
    "n: must be 1: the gateway has no such field; send several requests, or for images `sequential_image_generation`",
  ],
  [
    "tools as an object",
    ({ stream }) => stream({ ...chat, tools: { weather } }),
    'tools: expected Array, got Object; write a list, [{ type: "function", function: { name, description, parameters } }]',
  ],
  [
    "tools of defineTool in a request",
    ({ call, stream }) => stream({ ...chat, tools: [call("defineTool", weather)] }),
    "tools.0.type: is required\ntools.0.function: is required; write `await tool.definition()`; stores take tools of defineTool() as they are",
  ],
  [
    "tools of the Anthropic SDK",
    ({ stream }) => stream({ ...chat, tools: [{ name: "weather", input_schema: {} }] }),
    'tools.0.type: is required\ntools.0.function: is required; write { type: "function", function: { name, description, parameters } }',
  ],
  [
    "a misspelt option of a request",
    ({ stream }) => stream(chat, { sgnal: AbortSignal.timeout(60_000) }),
    "@sluice/core: options.sgnal: is not an option of a request; did you mean `signal`? (options.unknown)",
  ],
  [
    "abortSignal as in the AI SDK",
    ({ stream }) => stream(chat, { abortSignal: AbortSignal.timeout(60_000) }),
    "@sluice/core: options.abortSignal: is not an option of a request; give `signal` (options.unknown)",
  ],
  [
    "a signal for the options",
    ({ stream }) => stream(chat, AbortSignal.timeout(60_000)),
    "@sluice/core: options: is a signal: give { signal } (options.kind)",
  ],
  [
    "a controller for its signal",
    ({ stream }) => stream(chat, { signal: new AbortController() }),
    "signal: must be an AbortSignal; give the `signal` of an AbortController",
    "@sluice/core: options.signal: can't be used: give the `signal` of an AbortController (options.kind)",
  ],
  [
    "stream: true of a whole response",
    ({ call, client }) => call("completeChat", client, { ...chat, stream: true }),
    "stream: completeChat() does not stream: leave `stream` out, or use streamChat()",
  ],
  // tools
  [
    "defineTool without options",
    ({ call }) => call("defineTool"),
    "name: a tool's name has 1 to 64 letters, digits, _ and -, not undefined",
    "@sluice/core: defineTool: must be an object: { name, description, inputSchema, … } (options.unknown)",
  ],
  [
    "a tool without a name, as in the AI SDK",
    ({ call }) => call("defineTool", { description: "The weather", inputSchema: {} }),
    "name: a tool's name has 1 to 64 letters, digits, _ and -, not undefined",
  ],
  [
    "parameters as in the OpenAI SDK",
    ({ call }) => call("defineTool", { name: "weather", parameters: {} }),
    'inputSchema: the tool "weather" needs the schema of its arguments',
    "@sluice/core: defineTool.parameters: is not an option of defineTool; give `inputSchema` (options.unknown)",
  ],
  // a chat
  [
    "a chat without a client",
    ({ call }) => call("createChatStore", { model: "delta-5.3" }),
    "the first argument must be a client made by createClient()",
  ],
  [
    "a chat without options",
    ({ call, client }) => call("createChatStore", client),
    "the options are missing: give an object, or a function that returns one",
    "@sluice/core: createChatStore: must be an object: { model, params, id, … } (options.unknown)",
  ],
  [
    "system of a chat",
    ({ send }) => send({ model: "delta-5.3", system: "Be brief" }),
    "@sluice/core: createChatStore.system: is not an option of createChatStore or useChatStream; give `instructions` (options.unknown)",
  ],
  [
    "parameters beside the model",
    ({ send }) => send({ model: "delta-5.3", temperature: 0.1, maxTokens: 5 }),
    "@sluice/core: createChatStore.temperature: is not an option of createChatStore or useChatStream; give `params: { temperature }` (options.unknown)",
    "@sluice/core: createChatStore.maxTokens: is not an option of createChatStore or useChatStream; give `params: { max_tokens }` (options.unknown)",
  ],
  [
    "messages of a chat",
    ({ send }) => send({ model: "delta-5.3", messages }),
    "@sluice/core: createChatStore.messages: is not an option of createChatStore or useChatStream; give `initialMessages` (options.unknown)",
  ],
  [
    "tools of a chat as an object",
    ({ send }) => send({ model: "delta-5.3", tools: { weather } }),
    "tools: give a list of tools made by defineTool()",
    "@sluice/core: createChatStore.tools: can't be used: give a list of tools made by defineTool() (options.kind)",
  ],
  [
    "tools without defineTool",
    ({ send }) => send({ model: "delta-5.3", tools: [weather] }),
    "tools: give a list of tools made by defineTool()",
    "@sluice/core: createChatStore.tools: can't be used: give a list of tools made by defineTool() (options.kind)",
  ],
  [
    "two tools of one name",
    ({ call, send }) =>
      send({ ...seeing, tools: [call("defineTool", weather), call("defineTool", weather)] }),
    '@sluice/core: createChatStore.tools: has two tools called "weather", and only the first would run: rename one (options.kind)',
  ],
  [
    "a JSON Schema for a schema",
    ({ send }) => send({ model: "delta-5.3", outputSchema: { type: "object" } }),
    "outputSchema: give a schema of valibot, zod or another library that follows Standard Schema; a JSON Schema checks nothing",
  ],
  [
    "localStorage for a storage",
    ({ send }) => send({ model: "delta-5.3", id: "a", storage: { getItem() {}, setItem() {} } }),
    "@sluice/core: createChatStore.storage: can't be used: give indexedDBStorage(), webStorage(() => localStorage), memoryStorage(), or an object with read, write and subscribe (options.kind)",
    "storage: can't store chats: give indexedDBStorage(), or customStorage() with your own",
  ],
  [
    "a storage that is not called",
    ({ send }) => send({ model: "delta-5.3", id: "a", storage: memoryStorage }),
    "@sluice/core: createChatStore.storage: can't be used: give indexedDBStorage(), webStorage(() => localStorage), memoryStorage(), or an object with read, write and subscribe (options.kind)",
    "storage: can't store chats: give indexedDBStorage(), or customStorage() with your own",
  ],
  [
    "a storage without an id",
    ({ call, send }) => send({ model: "delta-5.3", storage: call("memoryStorage") }),
    "id: a chat with `storage` needs an `id` to be found again",
  ],
  [
    "another word for whenBusy",
    ({ send }) => send({ model: "delta-5.3", whenBusy: "enqueue" }),
    "@sluice/core: createChatStore.whenBusy: can't be used: give one of reject, queue, replace (options.kind)",
  ],
  [
    "messages with parts at the start",
    ({ send }) => send({ model: "delta-5.3", initialMessages: [{ role: "user", parts: [] }] }),
    "initialMessages.0.content: must be text; join the text of the message's `parts`",
  ],
  [
    "a message as an object",
    ({ send }) => send({ model: "delta-5.3" }, { text: "Hello" }),
    "content: must be text that is not empty, unless there are images",
  ],
  [
    "attachments of a message",
    ({ send }) => send(seeing, "Hello", { attachments: [] }),
    "@sluice/core: send.attachments: is not an option of a message; give `images` (options.unknown)",
  ],
  [
    "images as one address",
    ({ send }) => send(seeing, "Hello", { images: "https://a.test/a.png" }),
    "images: must be a list of files or URLs",
    "@sluice/core: send.images: can't be used: give a list of files or URLs (options.kind)",
  ],
  [
    "setMessages with a function",
    ({ call, client }) =>
      (call("createChatStore", client, { model: "delta-5.3" }) as ChatStore).setMessages((() => []) as never),
    "messages: must be a list of messages",
  ],
  // images and videos
  [
    "an image of another maker's model",
    ({ call, client }) => call("generateImages", client, { model: "dall-e-3", prompt: "A reef" }),
    "model: must be one of gamma-image-4-0-250828, gamma-image-5-0-260128 (send one that is not listed with `{ checks: false }`)",
  ],
  [
    "a size of another maker",
    ({ call, client }) =>
      call("generateImages", client, { model: "gamma-image-4-0-250828", prompt: "A reef", size: "512x512" }),
    "size: must be one of this model's sizes: 1024x1024, 864x1152, 1152x864, 1312x736, 736x1312, 832x1248, 1248x832, 1568x672, 2048x2048, 1728x2304, 2304x1728, 2848x1600, 1600x2848, 2496x1664, 1664x2496, 3136x1344, 4096x4096, 3520x4704, 4704x3520, 5504x3040, 3040x5504, 3328x4992, 4992x3328, 6240x2656",
  ],
  [
    "a video's prompt beside the model",
    ({ call, client }) => call("createVideoTask", client, { model: "beta3.0-video", prompt: "A reef" }),
    "input: is required; write `input: { prompt }`",
  ],
  [
    "a task that is not there",
    ({ call, client }) => (call("watchVideoTask", client, undefined) as TaskWatch<never, never>).result(),
    "task: is missing: give the handle that its creation returned, or its id",
  ],
  [
    "a creation that is not awaited",
    ({ call, client }) => {
      const creation = { model: "beta3.0-video", input: { prompt: "A reef" } };
      const task = call("createVideoTask", client, creation);
      return (call("watchVideoTask", client, task) as TaskWatch<never, never>).result();
    },
    "task: is a promise: await the creation, and give its handle",
  ],
  [
    "a video list without a client",
    ({ call }) => call("createVideoTaskList"),
    "the first argument must be a client made by createClient()",
  ],
  // hooks
  [
    "a hook outside of a provider",
    ({ call, render }) => render(() => call("useChatStream", { model: "delta-5.3" }), null),
    "no client: wrap the app in <GatewayProvider client={createClient({ … })}>",
  ],
  [
    "options for the provider's client",
    ({ call, render }) => render(() => call("useChatStream", { model: "delta-5.3" }), { baseURL: "/api" }),
    "no client: wrap the app in <GatewayProvider client={createClient({ … })}>",
  ],
  [
    "a hook without options",
    ({ call, render }) => render(() => call("useChatStream")),
    "the options are missing: give { model: … }",
  ],
  [
    "api as in the AI SDK's useChat",
    ({ call, render }) => render(() => call("useChatStream", { model: "delta-5.3", api: "/api/chat" })),
    "@sluice/core: createChatStore.api: is not an option of createChatStore or useChatStream; the address is `baseURL` of createClient() (options.unknown)",
  ],
  [
    "a task id instead of options",
    ({ call, render }) => render(() => call("useVideoTask", "t-1")),
    "@sluice/core: createVideoTaskStore: must be an object: { taskId, enabled, select, … } (options.unknown)",
  ],
  // the proxy
  [
    "createProxy without options",
    ({ call }) => call("createProxy"),
    "give the options: { baseURL, apiKey, authenticate, origins, models }",
  ],
  [
    "a key that is no function",
    ({ proxy }) => proxy({ apiKey: "sk-test" }),
    "apiKey: give a function, (env) => env.GATEWAY_API_KEY",
  ],
  [
    "no authenticate",
    ({ proxy }) => proxy({ authenticate: undefined }),
    'authenticate: give a function that returns the user, or "public" if everyone may spend',
  ],
  [
    "a user without an id",
    ({ proxy }) => proxy({ authenticate: () => ({ userId: "ada" }) }),
    'sluice proxy: 500 misconfigured, request …: authenticate: must return { id: "…" } or null',
  ],
  [
    "models as a text",
    ({ proxy }) => proxy({ models: "delta-5.3" }),
    'models: give the ids that may be used, ["delta-5.3"]',
  ],
  [
    "a cap in camel case",
    ({ proxy }) => proxy({ models: { "delta-5.3": { maxTokens: 5 } } }),
    "models: delta-5.3: maxTokens: is not a field of this model; correct it, or see allowFields",
  ],
  [
    "any origin",
    ({ proxy }) => proxy({ origins: ["*"] }),
    'origins: give exact origins, ["https://app.example.com"], without a path or wildcard',
  ],
  [
    "ratelimit for rateLimit",
    ({ proxy }) => proxy({ ratelimit: () => true }),
    "ratelimit: is not an option of createProxy",
  ],
  [
    "the binding of a rate limit",
    ({ proxy }) => proxy({ rateLimit: { limit() {} } }),
    "rateLimit: give a function",
  ],
  [
    "a meter that is not called",
    ({ proxy }) => proxy({ plugins: [() => {}] }),
    "plugins: give a list, [budget(…)]; definePlugin({ … }) of /plugin makes your own",
  ],
  [
    "a misspelt limit",
    ({ proxy }) => proxy({ limits: { maxBodyByte: 5 } }),
    "limits.maxBodyByte: is not an option of createProxy",
  ],
  [
    "a secret that is not set",
    ({ proxy }) => proxy({ apiKey: (env: { KEY?: string }) => env.KEY }),
    'sluice proxy: 500 misconfigured, request …: apiKey: is the secret set? Give one key, or two while they are changed, without quotes, spaces and "Bearer"',
  ],
  // the emulator
  [
    "apiKey for apiKeys",
    ({ call }) => call("createEmulator", { apiKey: "sk-test" }),
    "@sluice/emulator: createEmulator.apiKey: is not an option of createEmulator; did you mean `apiKeys`?",
  ],
  [
    "a response for the function that gives one",
    ({ call }) => call("createEmulator", { chat: "Hello" }),
    "@sluice/emulator: createEmulator.chat: can't be used: give a function",
  ],
];

test("There are at least 60 mistakes, each with its own title", () => {
  expect(new Set(mistakes.map(([title]) => title)).size).toBe(mistakes.length);
  expect(mistakes.length).toBeGreaterThanOrEqual(60);
});

/** All that was printed. */
let printed: string[] = [];

beforeEach(() => {
  printed = [];
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line) => void printed.push(String(line)));
  // each warning is printed only once
  vi.resetModules();
});
afterEach(() => vi.restoreAllMocks());

test.each(mistakes.map(([title, make, ...seen]) => [title, make, seen] as const))(
  "%s is reported",
  async (_, make, seen) => {
    const program = await openProgram();
    let thrown = "";
    try {
      const result = await make(program);
      if (result instanceof Error) thrown = result.message;
    } catch (error) {
      thrown = (error as Error).message;
    }
    await vi.waitFor(() => {
      const all = [...(thrown ? [thrown] : []), ...printed].map((line) =>
        line.replace(/[\da-f]{8}-[\da-f-]{27}/g, "…").replace(/^@sluice\/core: \w+Error: /, ""),
      );
      // the order of the lines depends on the order in which modules load
      expect(all.toSorted()).toEqual(seen.toSorted());
    }, 20_000);
  },
);

/** Imports all modules again, and creates the frames of a program. */
async function openProgram(): Promise<Program> {
  const parts = await Promise.all([
    import("@sluice/core"),
    import("@sluice/react"),
    import("@sluice/worker-proxy"),
    import("@sluice/emulator"),
  ]);
  const all = Object.assign({}, ...parts) as Readonly<Record<string, (...given: unknown[]) => unknown>>;
  const [
    { createClient, streamChat },
    { createChatStore, GatewayProvider },
    { createProxy },
    { createEmulator },
  ] = parts;
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const client = createClient({ ...emulator.clientOptions, apiKey: "sk-test" });
  const { renderToString } = await import("react-dom/server");
  return {
    call: (name, ...given) => all[name]?.(...given),
    client,
    stream: (request, options) => streamChat(client, request as never, options as never).result(),
    async send(options, ...message) {
      const [content = "Hello", more] = message;
      await createChatStore(client, options as never).send(content as never, more as never);
    },
    render(use, given = client) {
      const component = () => {
        use();
        return null;
      };
      const provider = GatewayProvider as FC<object>;
      return renderToString(createElement(provider, { client: given } as object, createElement(component)));
    },
    async proxy(options) {
      const { fetch } = createProxy({ ...proxyOptions, fetch: emulator.fetch, ...options } as ProxyOptions);
      const init = {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(chat),
      };
      return fetch(new Request("https://proxy.test/v1/chat/completions", init), {});
    },
  };
}

const proxyOptions = {
  baseURL: "https://gateway.test",
  apiKey: () => "sk-test",
  authenticate: () => ({ id: "ada" }),
  origins: ["https://app.test"],
  models: ["delta-5.3"],
};
