import { chatModels } from "../types/chat-models.js";
import type { Issue, ValidationError } from "../types/errors.js";
import { imageModels, videoModels } from "../types/media-models.js";

/* Loaded in development for a rejected request: syntax of other libraries, with its replacement here. */

type Fields = Readonly<Record<string, unknown>>;

/** A broken rule: its path without indexes, the value at the path, and the object that contains it. */
interface Broken {
  readonly at: string;
  readonly value: unknown;
  readonly around: Fields;
}

const USER = '{ role: "user", content: "Hello" }';
const TOOL = '{ type: "function", function: { name, description, parameters } }';
const IMAGE = '{ type: "image_url", image_url: { url: "https://…" } }';

const roles: Fields = {
  developer: 'instructions have the role "system"',
  model: 'messages of the model have the role "assistant"',
  human: 'questions have the role "user"',
};

const asText = 'write { type: "text", text }';
const asImage = `write ${IMAGE}`;
const asCall = "calls are `tool_calls` of the assistant's message";
const asResult = 'a result is a message: { role: "tool", tool_call_id, content }';
const parts: Fields = {
  image: asImage,
  input_image: asImage,
  input_text: asText,
  output_text: asText,
  tool_use: asCall,
  "tool-call": asCall,
  tool_result: asResult,
  "tool-result": asResult,
  file: "the models read text and images: send the file's text",
};

const findEntry = (names: Fields, value: unknown) =>
  typeof value === "string" && Object.hasOwn(names, value) ? String(names[value]) : undefined;
const findGiven = (around: Fields, ...names: readonly string[]) =>
  names.find((name) => around[name] !== undefined);

/** Suggests the function that a model belongs to. */
const suggestFunction = ({ value }: Broken) => {
  const is = (models: object) => typeof value === "string" && Object.hasOwn(models, value);
  if (is(chatModels)) return `${value} is a chat model: use streamChat or completeChat`;
  if (is(imageModels)) return `${value} is an image model: use generateImages`;
  return is(videoModels) ? `${value} is a video model: use createVideoTask` : undefined;
};

const chat: Readonly<Record<string, (broken: Broken) => string | undefined>> = {
  messages({ value, around }) {
    if (value !== undefined) return `write a list, [${USER}]`;
    const other = findGiven(around, "prompt", "input", "contents");
    return `write [${USER}]${other ? ` in place of \`${other}\`` : ""}`;
  },
  model: suggestFunction,
  "messages.*": () => `write ${USER}`,
  "messages.*.role": ({ value }) => findEntry(roles, value),
  "messages.*.content": ({ value, around }) => {
    if (Array.isArray(around["parts"])) return "join the texts of `parts` into `content`";
    return around["role"] === "tool" && value ? "write text, JSON.stringify(result)" : undefined;
  },
  "messages.*.content.*.type": ({ value }) => findEntry(parts, value),
  "messages.*.content.*.image_url": () => 'write { url: "https://…" }',
  tools: () => `write a list, [${TOOL}]`,
  "tools.*.function": ({ around }) =>
    typeof around["definition"] === "function"
      ? "write `await tool.definition()`; stores take tools of defineTool() as they are"
      : `write ${TOOL}`,
};

const hints: Readonly<Record<string, typeof chat>> = {
  chat,
  image: {
    model: suggestFunction,
    prompt: ({ around }) => (findGiven(around, "messages", "input") ? 'write `prompt: "…"`' : undefined),
  },
  video: {
    model: suggestFunction,
    input: ({ value, around }) =>
      typeof value === "string" || "prompt" in around ? "write `input: { prompt }`" : undefined,
    content: ({ around }) =>
      "prompt" in around ? 'write `content: [{ type: "text", text: "…" }]`' : undefined,
  },
};

/** Adds advice to the issues of a rejected request. Modifies the error. */
export function addHints(error: ValidationError, request: unknown): void {
  const { message: before } = error;
  const issues = error.issues.map((issue) => {
    const hint = findHint(issue, request);
    // replaces the suggestion of a similar name
    return hint ? { ...issue, message: `${issue.message.replace(/; did you .*/, "")}; ${hint}` } : issue;
  });
  const message = issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("\n");
  // the stack contains the message, and terminals print the stack
  Object.assign(error, { issues, message, stack: error.stack?.replace(before, () => message) });
}

function findHint({ path, rule }: Issue, request: unknown): string | undefined {
  const [resource = ""] = rule.split(".");
  if (typeof request !== "object" || request === null)
    return `write the request as an object: { model: "…", ${resource === "chat" ? "messages" : "…"} }`;
  const steps = path.split(".");
  let around: unknown = request;
  for (const step of steps.slice(0, -1)) around = toFields(around)[step];
  const at = path.replace(/\.\d+(?=\.|$)/g, ".*");
  const fields = toFields(around);
  return hints[resource]?.[at]?.({ at, value: fields[steps.at(-1) ?? ""], around: fields });
}

function toFields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
