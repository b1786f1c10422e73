import { createRules, type Rule } from "./rule.ts";

const endpoint = "/v1/chat/completions";
const messages = [{ role: "user", content: "Answer in JSON, please" }];
const png = "data:image/png;base64,iVBORw0KGgo=";
const image = (url: string, rest: object = {}) => [{ type: "image_url", image_url: { url, ...rest } }];
const message = (content: unknown, rest: object = {}) => ({ messages: [{ role: "user", content, ...rest }] });
const tool = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const call = { id: "c-1", type: "function", function: { name: "weather", arguments: "{}" } };
const createRequest = (rest: object) => ({
  messages: [
    ...messages,
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", content: "12 °C", ...rest },
  ],
});

type Rules = ReturnType<typeof createRules>;

/** The rules of messages, which all models have. */
function messageRules({ refuses }: Rules): void {
  refuses(
    "messages[].role",
    "system, user, assistant, tool",
    createRequest({ tool_call_id: "c-1" }),
    { messages: [{ role: "boss", content: "x" }] },
    { path: "messages.0.role" },
  );
  refuses(
    "messages[].content",
    "required, string or array",
    message("Hello"),
    { messages: [{ role: "user" }] },
    { path: "messages.0.content" },
  );
  refuses(
    "messages[].content",
    "absent only beside tool calls",
    { messages: [...messages, { role: "assistant", tool_calls: [call] }] },
    { messages: [{ role: "assistant", tool_calls: [] }] },
    { path: "messages.0.content", rule: "content" },
  );
  refuses(
    "messages[].content",
    "null only beside tool calls",
    createRequest({ tool_call_id: "c-1" }),
    { messages: [{ role: "assistant", content: null }] },
    { path: "messages.0.content", rule: "content" },
  );
  refuses(
    "messages[].reasoning_content",
    "string or null",
    { messages: [...messages, { role: "assistant", content: "Hi", reasoning_content: "Hm." }] },
    message("x", { reasoning_content: 7 }),
    { path: "messages.0.reasoning_content" },
  );
  refuses("messages[].name", "string", message("x", { name: "ada" }), message("x", { name: 7 }), {
    path: "messages.0.name",
  });
  refuses(
    "messages[].tool_call_id",
    "required for tool messages",
    createRequest({ tool_call_id: "c-1" }),
    createRequest({}),
    { path: "messages.2.tool_call_id" },
  );
  refuses(
    "messages[].tool_calls",
    "array of ToolCall",
    createRequest({ tool_call_id: "c-1" }),
    { messages: [{ role: "assistant", content: "", tool_calls: [{ ...call, type: "web" }] }] },
    { path: "messages.0.tool_calls.0.type" },
  );
  refuses(
    "content part text",
    "text required",
    message([{ type: "text", text: "x" }]),
    message([{ type: "text" }]),
    { path: "messages.0.content.0.text" },
  );
  for (const [field, message, broken] of [
    ["id", "string", { ...call, id: 7 }],
    ["function", "object with name and arguments", { ...call, function: "weather" }],
    ["function.name", "string", { ...call, function: { arguments: "{}" } }],
    ["function.arguments", "JSON as a string", { ...call, function: { name: "weather", arguments: {} } }],
  ] as const)
    refuses(
      `messages[].tool_calls[].${field}`,
      message,
      createRequest({ tool_call_id: "c-1" }),
      { messages: [{ role: "assistant", content: "", tool_calls: [broken] }] },
      { path: `messages.0.tool_calls.0.${field}` },
    );
}

/** The rules of tools, which some models have. */
function toolRules({ refuses }: Rules): void {
  refuses(
    "tools[].type",
    "function",
    { tools: [tool] },
    { tools: [{ ...tool, type: "web" }] },
    { path: "tools.0.type" },
  );
  refuses(
    "tools[].function.name",
    "required",
    { tools: [tool] },
    { tools: [{ type: "function", function: { parameters: {} } }] },
    { path: "tools.0.function.name" },
  );
  refuses(
    "tools[].function.parameters",
    "required, JSON Schema",
    { tools: [tool] },
    { tools: [{ type: "function", function: { name: "f" } }] },
    { path: "tools.0.function.parameters" },
  );
  refuses(
    "tools[].function.description",
    "string",
    { tools: [{ ...tool, function: { ...tool.function, description: "d" } }] },
    { tools: [{ ...tool, function: { ...tool.function, description: 7 } }] },
    { path: "tools.0.function.description" },
  );
  refuses(
    "tools[].function.strict",
    "boolean",
    { tools: [{ ...tool, function: { ...tool.function, strict: true } }] },
    { tools: [{ ...tool, function: { ...tool.function, strict: 1 } }] },
    { path: "tools.0.function.strict" },
  );
  refuses(
    "tool_choice",
    "none, auto, required",
    { tools: [tool], tool_choice: "required" },
    { tool_choice: "any" },
  );
  refuses(
    "tool_choice",
    "or a function's name",
    { tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } },
    { tool_choice: { type: "function", function: {} } },
    { path: "tool_choice.function.name" },
  );
  refuses(
    "tool_choice.type",
    "function",
    { tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } },
    { tool_choice: { type: "web", function: { name: "weather" } } },
  );
}

const alpha = createRules({
  endpoint,
  section: "Chat · alpha-v4.1-flash",
  prefix: "chat.alpha",
  request: { model: "alpha-v4.1-flash", messages },
});
alpha.refuses("messages", "at least 1 item", {}, { messages: [] });
alpha.refuses("messages", "required", {}, { messages: undefined });
messageRules(alpha);
alpha.refuses(
  "content part type",
  "text or image_url",
  message(image("https://img.example.com/a.png")),
  message([{ type: "audio" }]),
  { path: "messages.0.content.0.type" },
);
alpha.refuses(
  "image_url.url",
  "public http(s) URL or Base64 data URL of a JPEG, PNG, GIF or WebP",
  message(image(png)),
  message(image("data:image/svg+xml;base64,PHN2Zz4=")),
  { path: "messages.0.content.0.image_url.url", rule: "image-url" },
);
alpha.refuses(
  "image_url.detail",
  "low, high, original, auto",
  message(image(png, { detail: "original" })),
  message(image(png, { detail: "best" })),
  { path: "messages.0.content.0.image_url.detail" },
);
alpha.refuses(
  "image parts",
  "in user messages only",
  message(image(png)),
  { messages: [{ role: "system", content: image(png) }, ...messages] },
  { path: "messages.0.content.0.type" },
);
alpha.refuses(
  "thinking.type",
  "enabled or disabled",
  { thinking: { type: "disabled" } },
  { thinking: { type: "on" } },
);
alpha.refuses("thinking", "object or null", { thinking: null }, { thinking: "enabled" });
alpha.oneOf("reasoning_effort", ["none", "low", "high", "max"], ["medium", "minimal", "None"]);
alpha.bounds("max_tokens", [1, 393_216], 1);
alpha.refuses("max_tokens", "integer", { max_tokens: 2 }, { max_tokens: 1.5 });
alpha.refuses(
  "response_format.type",
  "text or json_object",
  { response_format: { type: "json_object" } },
  { response_format: { type: "yaml" } },
);
alpha.refuses(
  "stop",
  "string or at most 16 strings",
  { stop: Array(16).fill("x") },
  { stop: Array(17).fill("x") },
);
alpha.refuses("stream", "boolean", { stream: false }, { stream: "yes" });
alpha.refuses(
  "stream_options.include_usage",
  "boolean",
  { stream_options: { include_usage: true } },
  { stream_options: { include_usage: 1 } },
);
alpha.bounds("temperature", [0, 2], 0.1);
alpha.bounds("top_p", [0, 1], 0.1);
toolRules(alpha);
alpha.bounds("frequency_penalty", [-2, 2], 0.1);
alpha.bounds("presence_penalty", [-2, 2], 0.1);
alpha.refuses(
  "user_id",
  "at most 512 characters",
  { user_id: "a".repeat(512) },
  { user_id: "a".repeat(513) },
);
alpha.refuses("user_id", "letters, digits, - and _", { user_id: "a-B_9" }, { user_id: "a b" });
alpha.warns("(any other field)", "not in the list", {}, { seed: 2 }, { path: "seed", rule: "unknown-field" });
alpha.warns("messages[].(any other field)", "not in the list", {}, message("x", { createdAt: 7 }), {
  path: "messages.0.createdAt",
  rule: "unknown-field",
});
alpha.warns(
  "messages[].tool_calls[].(any other field)",
  "not in the list",
  createRequest({ tool_call_id: "c-1" }),
  { messages: [{ role: "assistant", content: "", tool_calls: [{ ...call, index: 0 }] }] },
  { path: "messages.0.tool_calls.0.index", rule: "unknown-field" },
);
alpha.warns(
  "image_url.(any other field)",
  "not in the list",
  message(image(png)),
  message(image(png, { alt: "A lock" })),
  { path: "messages.0.content.0.image_url.alt", rule: "unknown-field" },
);
alpha.warns(
  "temperature",
  "ignored when thinking is on",
  { temperature: 1, reasoning_effort: "none" },
  { temperature: 1 },
  { rule: "temperature-ignored" },
);
alpha.warns(
  "frequency_penalty",
  "no effect when thinking is on",
  {},
  { frequency_penalty: 1 },
  { rule: "frequency-penalty-ignored" },
);
alpha.warns(
  "presence_penalty",
  "no effect when thinking is on",
  {},
  { presence_penalty: 1 },
  { rule: "presence-penalty-ignored" },
);
alpha.warns(
  "top_p",
  "below 0.95 treated as 0.95 in thinking mode",
  { top_p: 0.95 },
  { top_p: 0.9 },
  { rule: "top-p-raised" },
);
alpha.warns(
  "response_format",
  "JSON mode requires the prompt to ask for JSON",
  { response_format: { type: "json_object" } },
  { response_format: { type: "json_object" }, messages: [{ role: "user", content: "Hello" }] },
  { path: "messages", rule: "json-not-asked" },
);
alpha.warns(
  "reasoning_effort",
  "none turns thinking off",
  { reasoning_effort: "none" },
  { reasoning_effort: "none", thinking: { type: "enabled" } },
  { rule: "thinking-contradicted" },
);

const gamma = createRules({
  endpoint,
  section: "Chat · gamma-chat-1-6-251015",
  prefix: "chat.gamma",
  request: { model: "gamma-chat-1-6-251015", messages },
});
gamma.refuses("messages", "at least 1 item", {}, { messages: [] });
gamma.refuses(
  "messages[]",
  "each has role and content",
  {},
  { messages: [{ role: "user" }] },
  { path: "messages.0.content" },
);
messageRules(gamma);
gamma.bounds("max_tokens", [1, 8192], 1);
gamma.refuses("max_tokens", "integer", { max_tokens: 2 }, { max_tokens: 1.5 });
gamma.bounds("temperature", [0, 2], 0.1);
gamma.bounds("top_p", [0, 1], 0.1);
gamma.bounds("frequency_penalty", [-2, 2], 0.1);
gamma.bounds("presence_penalty", [-2, 2], 0.1);
gamma.refuses("stream", "boolean", { stream: false }, { stream: 1 });
gamma.refuses("stop", "one string", { stop: "END" }, { stop: ["END"] });
gamma.refuses("image parts", "not in its list", {}, message(image(png)), {
  path: "messages.0.content.0.type",
});
for (const [field, value] of Object.entries({
  tools: [tool],
  thinking: { type: "enabled" },
  response_format: { type: "json_object" },
}))
  gamma.warns(
    "(any other field)",
    `${field} is not in the list`,
    {},
    { [field]: value },
    { path: field, rule: "unknown-field" },
  );

const delta = createRules({
  endpoint,
  section: "Chat · delta-5.3",
  prefix: "chat.delta",
  request: { model: "delta-5.3", messages },
});
delta.refuses("messages", "at least 1 item", {}, { messages: [] });
messageRules(delta);
delta.refuses("image parts", "not in its list", {}, message(image(png)), {
  path: "messages.0.content.0.type",
});
delta.refuses("stream", "boolean", { stream: false }, { stream: 1 });
delta.refuses(
  "thinking",
  "only enabled",
  { thinking: { type: "enabled" } },
  { thinking: { type: "disabled" } },
  { path: "thinking.type" },
);
delta.oneOf("reasoning_effort", ["low", "high", "max"], ["none", "medium", "minimal"]);
delta.bounds("max_tokens", [1, 131_072], 1);
delta.refuses("max_tokens", "integer", { max_tokens: 2 }, { max_tokens: 1.5 });
// assumptions warn and never refuse
for (const path of ["temperature", "top_p"])
  for (const [message, within, beyond] of [
    ["from 0, not -0.1", 0, -0.1],
    ["to 1, not 1.1", 1, 1.1],
  ] as const)
    delta.warns(`${path} (assumed name)`, message, { [path]: within }, { [path]: beyond }, { path });
delta.warns(
  "stop (assumed name)",
  "at most 4 entries",
  { stop: Array(4).fill("x") },
  { stop: Array(5).fill("x") },
  { path: "stop" },
);
for (const [field, value] of Object.entries({ user_id: "a", n: 1 }))
  delta.warns(
    "(any other field)",
    `${field} is not in the list`,
    {},
    { [field]: value },
    { path: field, rule: "unknown-field" },
  );
toolRules(delta);
delta.warns("tools", "not listed", {}, { tools: [tool] }, { rule: "tools-unlisted" });

for (const { refuses, warns } of [gamma, delta]) {
  const asks = { stream_options: { include_usage: true } };
  warns("stream_options", "not listed", {}, asks, { rule: "stream-options-unlisted" });
  refuses("stream_options.include_usage", "boolean", asks, { stream_options: { include_usage: 1 } });
}
for (const { refuses } of [alpha, gamma, delta])
  refuses("n", "no such field: one answer", { n: 1 }, { n: 2 });
delta.refuses(
  "thinking",
  "only `enabled`, if given",
  { thinking: { type: "enabled" } },
  { thinking: {} },
  { path: "thinking.type" },
);

export const chatRules: readonly Rule[] = [...alpha.rules, ...gamma.rules, ...delta.rules];
