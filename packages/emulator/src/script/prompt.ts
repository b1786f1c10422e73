/** Fields that a script reads from a request of any endpoint. They are not validated yet. */
interface AnyRequest {
  readonly messages?: unknown;
  readonly prompt?: unknown;
  readonly input?: { readonly prompt?: unknown } | null;
  readonly content?: unknown;
  readonly Name?: unknown;
}

interface AnyMessage {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly name?: unknown;
  readonly tool_call_id?: unknown;
  readonly tool_calls?: unknown;
}

/** Returns the prompt of a request: the last user message, the prompt, or the name of an asset. */
export function readPrompt(body: object): string {
  const { messages, prompt, input, content, Name } = body as AnyRequest;
  if (Array.isArray(messages))
    return readText(readMessages(body).findLast(({ role }) => role === "user")?.content);
  return [prompt, input?.prompt, content, Name].map(readText).join("");
}

/** Returns the names of the tools whose results end a chat request. */
export function listToolResults(body: object): string[] {
  const messages = readMessages(body);
  const start = messages.findLastIndex(({ role }) => role !== "tool") + 1;
  const calls = messages.flatMap(({ tool_calls }) => (Array.isArray(tool_calls) ? tool_calls : []));
  return messages.slice(start).map(({ name, tool_call_id }) => {
    const call = calls.find((one) => one?.id === tool_call_id);
    return String(call?.function?.name ?? name ?? "");
  });
}

function readMessages(body: object): AnyMessage[] {
  const { messages } = body as AnyRequest;
  return Array.isArray(messages) ? messages.filter((one) => typeof one === "object" && one !== null) : [];
}

/** Returns the text of a message or prompt. The texts of a list of parts are joined. */
function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("\n");
}
