import type { ChatRequest } from "@sluice/core";
import { probeMedia } from "@sluice/media";
import { type Answer, normalize, readAnswers } from "./answers.ts";
import { describeRange, findDice } from "./dice.ts";
import { documentsIn, documentTable, jsonCard, picturesOf, requestCard, textOf } from "./request-card.ts";

/** Reply of the script, as the emulator's option `chat` takes it. */
export interface Reply {
  readonly content?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[];
}

type Values = Readonly<Record<string, unknown>>;

const CONTINUE = /^(?:please )?(?:continue|go on|keep going|carry on)(?: please| writing| your answer)?$/;
const CARD_REASONING =
  "No answer is written for this prompt. I have no model, so I must not make one up. I can show the request, and name prompts that have an answer.";

/**
 * Creates the script of the demo's emulator: the files of `answers/`, the rest of an answer that was cut, and for
 * everything else a description of the request. Answers that fit a schema are left to the emulator.
 */
export function createDemoScript(): (request: ChatRequest) => Promise<Reply | undefined> {
  const answers = readAnswers();
  const inSituation = (name: string) => answers.find(({ situation }) => situation === name);
  return (request) => reply(request);

  async function reply(request: ChatRequest): Promise<Reply | undefined> {
    if (hasSchema(request)) return undefined;
    if (wantsJSON(request)) return { reasoning: CARD_REASONING, content: jsonCard(request) };
    const rest = await restOf(request);
    if (rest) return rest;
    const result = resultOf(request);
    if (result) return answerResult(result, request);
    const isBrief = request.model.startsWith("gamma-");
    const question = request.messages.findLast(({ role }) => role === "user");
    const text = question ? textOf(question) : "";
    const pictures = question ? picturesOf(question) : [];
    const documents = documentsIn(text);
    if (documents.length > 0 && pictures.length === 0)
      return filled(inSituation("document"), { documents: documentTable(documents) });
    const found = pictures.length > 0 ? inSituation("picture") : find(normalize(text), request);
    if (found?.situation === "picture")
      return pictures.length > 0
        ? filled(found, { pictures: await pictureTable(pictures) })
        : filled(inSituation("no-picture"));
    if (found?.call)
      return offers(request, found.call.name) ? calling(found, text) : filled(inSituation("tools-off"));
    // a tool of another page: the emulator calls it
    if (!found && /\b(?:use|call|run)\b/i.test(text) && request.messages.length > 0 && hasTools(request))
      return undefined;
    if (!found) return card(request);
    return isBrief ? { ...filled(found), content: found.brief } : filled(found);
  }

  function find(prompt: string, { messages }: ChatRequest): Answer | undefined {
    const exact = answers.find(({ prompts }) => prompts.includes(prompt));
    if (exact) return exact;
    const before = messages.filter(({ role }) => role === "user").at(-2);
    const earlier = before && answers.find(({ prompts }) => prompts.includes(normalize(textOf(before))));
    const next =
      earlier && answers.find(({ after, replies }) => after === earlier.id && replies.includes(prompt));
    // the start of a word is enough: "boat" is in "boats"
    const has = (word: string) => ` ${prompt}`.includes(` ${word}`);
    const isOther = (word: string) => ` ${prompt} `.includes(` ${word} `);
    return (
      next ??
      answers.find(
        ({ keywords, exceptions }) => keywords.some((group) => group.every(has)) && !exceptions.some(isOther),
      )
    );
  }

  /** Returns the rest of the last answer if the user asks to continue, or if the request ends with that answer. */
  async function restOf(request: ChatRequest): Promise<Reply | undefined> {
    const { messages } = request;
    const isQuestion = messages.map((message) => message.role === "user" && !isContinue(message));
    const start = isQuestion.lastIndexOf(true);
    const later = messages.slice(start + 1);
    const last = messages.at(-1);
    if (start < 0 || !last || (last.role !== "assistant" && !isContinue(last))) return undefined;
    const said = later.flatMap((message) => (message.role === "assistant" ? [textOf(message)] : [])).join("");
    const whole = await reply({ ...request, messages: messages.slice(0, start + 1) } as ChatRequest);
    const content = whole?.content ?? "";
    if (said === "" || !content.startsWith(said.trimEnd())) return undefined;
    const left = content.slice(said.length);
    const reasoning = "The last answer was cut. I go on exactly where it ended.";
    return { reasoning, content: left.trim() === "" ? "That was all: the last answer is complete." : left };
  }

  function answerResult({ name, input, value }: ToolResult, request: ChatRequest): Reply {
    const ending = "error" in value ? " denied" : value["name"] === "none" ? " none" : "";
    const answer = answers.find(({ resultOf }) => resultOf === name + ending);
    if (answer) return filled(answer, { ...value, ...describeRange(value["rolls"], input["sides"]) });
    if (ending === " denied")
      return {
        reasoning: "The tool did not run. I say so.",
        content: `\`${name}\` did not run: ${value["error"]}. Shall I try something else?`,
      };
    return card(request);
  }
}

function isContinue(message: ChatRequest["messages"][number]): boolean {
  return message.role === "user" && CONTINUE.test(normalize(textOf(message)));
}

function card(request: ChatRequest): Reply {
  return { reasoning: CARD_REASONING, content: requestCard(request) };
}

function calling({ reasoning, call }: Answer, text: string): Reply {
  return {
    reasoning,
    toolCalls: call ? [{ name: call.name, arguments: fill(call.arguments, argumentsIn(text)) }] : [],
  };
}

function filled(answer: Answer | undefined, values: Values = {}): Reply {
  return { reasoning: answer?.reasoning ?? "", content: fill(answer?.content ?? "", values) };
}

/** Replaces `{{name}}`, and `{{name or default}}` where there is no value. */
function fill(text: string, values: Values): string {
  return text.replace(/\{\{(.+?)(?: or (.+?))?\}\}/g, (_, name: string, otherwise = "") => {
    const value = values[name] ?? otherwise;
    return Array.isArray(value) ? value.join(", ") : String(value);
  });
}

/** Finds values for a tool call: the dice of the prompt, and its quoted words or what follows a colon. */
function argumentsIn(text: string): Values {
  const [, ...quotes] = /["“]([^"”]+)["”]|:\s*(\S.*)$/s.exec(text) ?? [];
  const quoted = quotes.find((quote) => quote !== undefined) ?? text;
  // inside the quotes of the JSON in the file
  return { ...findDice(text), quoted: JSON.stringify(quoted.trim()).slice(1, -1) };
}

async function pictureTable(urls: readonly string[]): Promise<string> {
  const rows = await Promise.all(
    urls.map(async (url, index) => `| ${index + 1} | ${(await factsOf(url)).join(" | ")} |`),
  );
  return ["| Picture | Type | Size | Dimensions |", "| ---: | --- | ---: | --- |", ...rows].join("\n");
}

async function factsOf(url: string): Promise<string[]> {
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
function resultOf({ messages }: ChatRequest): ToolResult | undefined {
  const last = messages.at(-1);
  if (last?.role !== "tool") return undefined;
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? []);
  const call = calls.findLast(({ id }) => id === last.tool_call_id)?.function;
  return {
    name: call?.name ?? "tool",
    input: valuesIn(call?.arguments ?? ""),
    value: valuesIn(textOf(last)),
  };
}

function valuesIn(text: string): Values {
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

/** Says if the answer has to fit a schema: the emulator makes one that does. */
function hasSchema({ messages }: ChatRequest): boolean {
  return messages.some((message) => message.role === "system" && /JSON schema/i.test(textOf(message)));
}
