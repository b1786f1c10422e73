import type { Advice } from "./unknown-options.js";

/* Loaded in development. Advice for options and fields that have other names in other libraries. */

const formatAdvice = (replacements: Advice): Advice =>
  Object.fromEntries(Object.entries(replacements).map(([name, ours]) => [name, `give \`${ours}\``]));

const requestOptions = formatAdvice({
  maxRetries: "retry: { limit }",
  abortSignal: "signal",
});

/** Request parameters by their names in other libraries. */
const renamedParams: Advice = {
  maxTokens: "max_tokens",
  maxOutputTokens: "max_tokens",
  max_completion_tokens: "max_tokens",
  max_output_tokens: "max_tokens",
  topP: "top_p",
  stopSequences: "stop",
};
const params =
  "temperature max_tokens top_p stop thinking reasoning_effort response_format tool_choice".split(" ");
const addressAdvice = "the address is `baseURL` of createClient()";

const functions: Readonly<Record<string, Advice>> = {
  createClient: { ...requestOptions, ...formatAdvice({ defaultHeaders: "headers", url: "baseURL" }) },
  "createChatStore or useChatStream": {
    ...formatAdvice(Object.fromEntries(params.map((name) => [name, `params: { ${name} }`]))),
    ...formatAdvice(
      Object.fromEntries(
        Object.entries(renamedParams).map(([other, name]) => [other, `params: { ${name} }`]),
      ),
    ),
    ...formatAdvice({
      system: "instructions",
      messages: "initialMessages",
      stopWhen: "maxSteps",
      prepareSendMessagesRequest: "prepareMessages",
      body: "params",
    }),
    api: addressAdvice,
    transport: addressAdvice,
    onToolCall: "give `execute` to defineTool()",
  },
  "createImageStore or useImages": { prompt: "give it to generate({ prompt })" },
  "createVideoTaskStore or useVideoTask": formatAdvice({ id: "taskId" }),
  "a request": requestOptions,
  "a message": formatAdvice({ attachments: "images", files: "images" }),
  defineTool: formatAdvice({
    parameters: "inputSchema",
    input_schema: "inputSchema",
    run: "execute",
    handler: "execute",
  }),
};

/** Returns advice for the options of a function that have other names in other libraries. */
export function findAdvice(functionName: string): Advice {
  return functions[functionName] ?? {};
}

const systemAdvice = 'begin `messages` with { role: "system", content: "…" }; a store has `instructions`';
const lastArgument = Object.fromEntries(
  ["signal", "abortSignal", "headers", "timeout", "retry"].map((name) => [
    name,
    `it belongs in the last argument, { ${name.replace("abortSignal", "signal")} }`,
  ]),
);

const fields: Readonly<Record<string, Advice>> = {
  chat: {
    ...formatAdvice(renamedParams),
    system: systemAdvice,
    instructions: systemAdvice,
    onFinish: "await `result()` of the stream",
    tools: "this model calls no tools: use alpha-v4.1-flash",
  },
  image: {
    quality: "choose a larger `size`",
    aspectRatio: "choose a `size`",
    aspect_ratio: "choose a `size`",
  },
  video: formatAdvice({ aspectRatio: "ratio" }),
};

/** Returns advice for an unknown field of a request, by its path and the warning's rule. */
export function findFieldAdvice(path: string, rule: string): string | undefined {
  if (!rule.endsWith(".unknown-field")) return undefined;
  const [resource = ""] = rule.split(".");
  const advice: Advice = { ...lastArgument, ...fields[resource] };
  return Object.hasOwn(advice, path) ? advice[path] : undefined;
}
