import { chatModels } from "../types/chat-models.js";
import type { Issue, ValidationError } from "../types/errors.js";
import { imageModels, videoModels } from "../types/media-models.js";

/* Loaded in development for a rejected request. Advice for requests in the syntax of other libraries. */

type Fields = Readonly<Record<string, unknown>>;

/** The value that breaks a rule, and the object that contains it. */
interface Broken {
  readonly value: unknown;
  readonly parent: Fields;
}

const USER = '{ role: "user", content: "Hello" }';
const TOOL = '{ type: "function", function: { name, description, parameters } }';
const IMAGE = '{ type: "image_url", image_url: { url: "https://…" } }';

const roles: Fields = {
  developer: 'instructions have the role "system"',
  model: 'messages of the model have the role "assistant"',
  human: 'questions have the role "user"',
};

const textAdvice = 'write { type: "text", text }';
const imageAdvice = `write ${IMAGE}`;
const callAdvice = "calls are `tool_calls` of the assistant's message";
const resultAdvice = 'a result is a message: { role: "tool", tool_call_id, content }';
const parts: Fields = {
  image: imageAdvice,
  input_image: imageAdvice,
  input_text: textAdvice,
  output_text: textAdvice,
  tool_use: callAdvice,
  "tool-call": callAdvice,
  tool_result: resultAdvice,
  "tool-result": resultAdvice,
  file: "the models read text and images: send the file's text",
};

const findAdvice = (adviceByValue: Fields, value: unknown) =>
  typeof value === "string" && Object.hasOwn(adviceByValue, value) ? String(adviceByValue[value]) : undefined;
const findPresent = (parent: Fields, ...names: readonly string[]) =>
  names.find((name) => parent[name] !== undefined);

/** Suggests the function that accepts the model. */
const suggestFunction = ({ value }: Broken) => {
  const hasModel = (models: object) => typeof value === "string" && Object.hasOwn(models, value);
  if (hasModel(chatModels)) return `${value} is a chat model: use streamChat or completeChat`;
  if (hasModel(imageModels)) return `${value} is an image model: use generateImages`;
  return hasModel(videoModels) ? `${value} is a video model: use createVideoTask` : undefined;
};

const chat: Readonly<Record<string, (broken: Broken) => string | undefined>> = {
  messages({ value, parent }) {
    if (value !== undefined) return `write a list, [${USER}]`;
    const other = findPresent(parent, "prompt", "input", "contents");
    return `write [${USER}]${other ? ` in place of \`${other}\`` : ""}`;
  },
  model: suggestFunction,
  "messages.*": () => `write ${USER}`,
  "messages.*.role": ({ value }) => findAdvice(roles, value),
  "messages.*.content": ({ value, parent }) => {
    if (Array.isArray(parent["parts"])) return "join the texts of `parts` into `content`";
    return parent["role"] === "tool" && value ? "write text, JSON.stringify(result)" : undefined;
  },
  "messages.*.content.*.type": ({ value }) => findAdvice(parts, value),
  "messages.*.content.*.image_url": () => 'write { url: "https://…" }',
  tools: () => `write a list, [${TOOL}]`,
  "tools.*.function": ({ parent }) =>
    typeof parent["definition"] === "function"
      ? "write `await tool.definition()`; stores take tools of defineTool() as they are"
      : `write ${TOOL}`,
};

/** Functions that suggest a fix, by resource, then by path without indexes. */
const hints: Readonly<Record<string, typeof chat>> = {
  chat,
  image: {
    model: suggestFunction,
    prompt: ({ parent }) => (findPresent(parent, "messages", "input") ? 'write `prompt: "…"`' : undefined),
  },
  video: {
    model: suggestFunction,
    input: ({ value, parent }) =>
      typeof value === "string" || "prompt" in parent ? "write `input: { prompt }`" : undefined,
    content: ({ parent }) =>
      "prompt" in parent ? 'write `content: [{ type: "text", text: "…" }]`' : undefined,
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
  const keys = path.split(".");
  let parent = toFields(request);
  for (const key of keys.slice(0, -1)) parent = toFields(parent[key]);
  const pattern = path.replace(/\.\d+(?=\.|$)/g, ".*");
  return hints[resource]?.[pattern]?.({ value: parent[keys.at(-1) ?? ""], parent });
}

function toFields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
