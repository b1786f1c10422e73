import type { ChatRequest } from "@sluice/core";
import { probeMedia } from "@sluice/media";
import { describeRange, findDice } from "./dice.ts";
import { type DemoReply, normalize, readReplies } from "./replies.ts";
import { formatJSONCard, formatRequestCard, listImages, readText } from "./request-card.ts";

/** Reply of the script, as the emulator's option `chat` takes it. */
export interface Reply {
  readonly content?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[];
}

type Values = Readonly<Record<string, unknown>>;

const CONTINUE = /^(?:please )?(?:continue|go on|keep going|carry on)(?: please| writing| your answer)?$/;
const CARD_REASONING =
  "No reply is written for this prompt. I have no model, so I must not make one up. I can show the request, and name prompts that have a reply.";

/**
 * Creates the script of the demo's emulator: the files of `replies/`, the rest of a response that was cut, and for
 * everything else a description of the request. Replies that fit a schema are left to the emulator.
 */
export function createDemoScript(): (request: ChatRequest) => Promise<Reply | undefined> {
  const replies = readReplies();
  const inSituation = (name: string) => replies.find(({ situation }) => situation === name);
  return (request) => reply(request);

  async function reply(request: ChatRequest): Promise<Reply | undefined> {
    if (hasSchema(request)) return undefined;
    if (wantsJSON(request)) return { reasoning: CARD_REASONING, content: formatJSONCard(request) };
    const rest = await findRest(request);
    if (rest) return rest;
    const result = findResult(request);
    if (result) return respondToResult(result, request);
    const isBrief = request.model.startsWith("gamma-");
    const question = request.messages.findLast(({ role }) => role === "user");
    const text = question ? readText(question) : "";
    const images = question ? listImages(question) : [];
    const found = images.length > 0 ? inSituation("image") : find(normalize(text), request);
    if (found?.situation === "image")
      return images.length > 0
        ? createReply(found, { images: await createImageTable(images) })
        : createReply(inSituation("no-image"));
    if (found?.call)
      return offers(request, found.call.name)
        ? createToolCall(found, text)
        : createReply(inSituation("tools-off"));
    // a tool of another page: the emulator calls it
    if (!found && /\b(?:use|call|run)\b/i.test(text) && request.messages.length > 0 && hasTools(request))
      return undefined;
    if (!found) return createCard(request);
    return isBrief ? { ...createReply(found), content: found.brief } : createReply(found);
  }

  function find(prompt: string, { messages }: ChatRequest): DemoReply | undefined {
    const exact = replies.find(({ prompts }) => prompts.includes(prompt));
    if (exact) return exact;
    const before = messages.filter(({ role }) => role === "user").at(-2);
    const earlier = before && replies.find(({ prompts }) => prompts.includes(normalize(readText(before))));
    const next =
      earlier && replies.find(({ after, replies }) => after === earlier.id && replies.includes(prompt));
    // the start of a word is enough: "boat" is in "boats"
    const has = (word: string) => ` ${prompt}`.includes(` ${word}`);
    const isOther = (word: string) => ` ${prompt} `.includes(` ${word} `);
    return (
      next ??
      replies.find(
        ({ keywords, exceptions }) => keywords.some((group) => group.every(has)) && !exceptions.some(isOther),
      )
    );
  }

  /** Returns the rest of the last response if the user asks to continue, or if the request ends with that response. */
  async function findRest(request: ChatRequest): Promise<Reply | undefined> {
    const { messages } = request;
    const isQuestion = messages.map((message) => message.role === "user" && !isContinue(message));
    const start = isQuestion.lastIndexOf(true);
    const later = messages.slice(start + 1);
    const last = messages.at(-1);
    if (start < 0 || !last || (last.role !== "assistant" && !isContinue(last))) return undefined;
    const text = later
      .flatMap((message) => (message.role === "assistant" ? [readText(message)] : []))
      .join("");
    const whole = await reply({ ...request, messages: messages.slice(0, start + 1) } as ChatRequest);
    const content = whole?.content ?? "";
    if (text === "" || !content.startsWith(text.trimEnd())) return undefined;
    const left = content.slice(text.length);
    const reasoning = "The last response was cut. I continue exactly where it ended.";
    return { reasoning, content: left.trim() === "" ? "That was all: the last response is complete." : left };
  }

  function respondToResult({ name, input, value }: ToolResult, request: ChatRequest): Reply {
    const ending = "error" in value ? " denied" : value["name"] === "none" ? " none" : "";
    const found = replies.find(({ toolName }) => toolName === name + ending);
    if (found) return createReply(found, { ...value, ...describeRange(value["rolls"], input["sides"]) });
    if (ending === " denied")
      return {
        reasoning: "The tool did not run. I say so.",
        content: `\`${name}\` did not run: ${value["error"]}. Shall I try something else?`,
      };
    return createCard(request);
  }
}

function isContinue(message: ChatRequest["messages"][number]): boolean {
  return message.role === "user" && CONTINUE.test(normalize(readText(message)));
}

function createCard(request: ChatRequest): Reply {
  return { reasoning: CARD_REASONING, content: formatRequestCard(request) };
}

function createToolCall({ reasoning, call }: DemoReply, text: string): Reply {
  return {
    reasoning,
    toolCalls: call ? [{ name: call.name, arguments: fill(call.arguments, parseArguments(text)) }] : [],
  };
}

function createReply(reply: DemoReply | undefined, values: Values = {}): Reply {
  return { reasoning: reply?.reasoning ?? "", content: fill(reply?.content ?? "", values) };
}

/** Replaces `{{name}}`, and `{{name or default}}` for a missing value. */
function fill(text: string, values: Values): string {
  return text.replace(/\{\{(.+?)(?: or (.+?))?\}\}/g, (_, name: string, otherwise = "") => {
    const value = values[name] ?? otherwise;
    return Array.isArray(value) ? value.join(", ") : String(value);
  });
}

/** Finds values for a tool call: the dice of the prompt, and its quoted words or what follows a colon. */
function parseArguments(text: string): Values {
  const [, ...quotes] = /["“]([^"”]+)["”]|:\s*(\S.*)$/s.exec(text) ?? [];
  const quoted = quotes.find((quote) => quote !== undefined) ?? text;
  // inside the quotes of the JSON in the file
  return { ...findDice(text), quoted: JSON.stringify(quoted.trim()).slice(1, -1) };
}

async function createImageTable(urls: readonly string[]): Promise<string> {
  const rows = await Promise.all(
    urls.map(async (url, index) => `| ${index + 1} | ${(await readImageCells(url)).join(" | ")} |`),
  );
  return ["| Picture | Type | Size | Dimensions |", "| ---: | --- | ---: | --- |", ...rows].join("\n");
}

async function readImageCells(url: string): Promise<string[]> {
  if (!url.startsWith("data:")) return [`from ${new URL(url).host}`, "not loaded", "not loaded"];
  const { type, bytes, width, height } = await probeMedia(await (await fetch(url)).blob());
  const size = bytes < 10_000 ? `${bytes} bytes` : `${Math.round(bytes / 1000).toLocaleString("en")} kB`;
  return [`\`${type}\``, size, width && height ? `${width} × ${height} pixels` : "unknown"];
}

interface ToolResult {
  readonly name: string;
  /** Arguments of the call. */
  readonly input: Values;
  readonly value: Values;
}

/** Returns the last tool result of a request that ends with results. */
function findResult({ messages }: ChatRequest): ToolResult | undefined {
  const last = messages.at(-1);
  if (last?.role !== "tool") return undefined;
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? []);
  const call = calls.findLast(({ id }) => id === last.tool_call_id)?.function;
  return {
    name: call?.name ?? "tool",
    input: parseValues(call?.arguments ?? ""),
    value: parseValues(readText(last)),
  };
}

function parseValues(text: string): Values {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : { value };
  } catch {
    return { value: text };
  }
}

function hasTools(request: ChatRequest): boolean {
  return "tools" in request && (request.tools?.length ?? 0) > 0;
}

function offers(request: ChatRequest, name: string): boolean {
  return "tools" in request && (request.tools ?? []).some((tool) => tool.function.name === name);
}

function wantsJSON(request: ChatRequest): boolean {
  return "response_format" in request && request.response_format?.type === "json_object";
}

/** Checks for a request of structured output. The emulator then creates a response that fits the schema. */
function hasSchema({ messages }: ChatRequest): boolean {
  return messages.some((message) => message.role === "system" && /JSON schema/i.test(readText(message)));
}
