import type { ChatRequest } from "@sluice/core";
import type { ScriptedReply } from "../server/exchange.js";
import { hash } from "../server/hash.js";
import { readHints } from "./hints.js";
import type { ChatJob } from "./job.js";
import { readText } from "./message-text.js";
import { sample } from "./sample.js";
import {
  isSmallTalk,
  listCapabilities,
  type Subject,
  writeLongReply,
  writeMarkdown,
  writeShortReply,
  writeThinking,
} from "./texts.js";
import { type ChosenCall, chooseCalls } from "./tools.js";

/** A reply before limits cut it. */
export interface Draft {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly ChosenCall[];
}

/** Decides the reply to a request. Return undefined to leave the reply to the emulator. */
export type ChatScript = (request: ChatRequest) => Decision | Promise<Decision>;
type Decision = string | ScriptedReply | undefined;

const TOPIC_CHARACTERS = 60;
const LEAD_IN =
  /^(?:(?:please|now|and|can you|could you|would you)\s+)*(?:tell me(?: something| more)? about|explain(?: to me)?|describe|talk about|what (?:is|are|was|were)|write (?:me )?(?:(?:an?|some) )?(?:\w+ )?about)\s+/i;

/** Drafts a reply from the test's function, the script, a tool call, a JSON Schema, or a text of the emulator. */
export async function draftReply(
  job: ChatJob,
  script: ChatScript | undefined,
  reply: ScriptedReply | undefined,
): Promise<Draft> {
  const scripted = (await script?.(job.request)) ?? reply;
  if (scripted !== undefined) return draftScripted(scripted, job);

  const subject = readSubject(job);
  const calls = chooseCalls(job);
  const content = calls.length > 0 ? "" : writeContent(job, subject);
  const names = calls.map(({ name }) => name);
  return { reasoning: writeThinking(subject, job.effort, names), content, calls };
}

function draftScripted(scripted: string | ScriptedReply, job: ChatJob): Draft {
  const reply = typeof scripted === "string" ? { content: scripted } : scripted;
  const calls = (reply.toolCalls ?? []).map(({ name, arguments: given }) => ({
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}),
  }));
  const reasoning =
    job.effort === "none" ? "" : (reply.reasoning ?? writeThinking(readSubject(job), job.effort, []));
  return { reasoning, content: reply.content ?? "", calls };
}

function writeContent(job: ChatJob, subject: Subject): string {
  const { replySchema, replyExample, faults, images, prompt, toolResults } = job;
  // words of a schema in the prompt are not values
  const words = prompt.replace(/\{.*\}/s, "");
  if (replySchema !== undefined) return JSON.stringify(sample(replySchema, readHints(words)), null, 2);
  if (replyExample !== undefined) return JSON.stringify(replyExample, null, 2);
  if (job.wantsJSON || faults.names.has("json")) return writeJSON(job, subject);
  if (toolResults.length > 0) return writeAboutTools(job, subject);
  if (images.length > 0) return writeAboutImages(job, subject);
  if (/what (can|do) you do|what you (can )?do|your (faults|abilities)|list .*faults/i.test(prompt))
    return listCapabilities();
  if (/\bmarkdown\b/i.test(prompt)) return writeMarkdown(subject);
  // a fault needs a text that is long enough to cut
  if (faults.names.size === 0 && isSmallTalk(prompt)) return writeShortReply(subject);
  return writeLongReply(subject);
}

function writeJSON({ images, toolResults }: ChatJob, { topic, turn }: Subject): string {
  const reply = {
    topic,
    turn,
    summary: `A reply of the emulator about “${topic}”, as JSON.`,
    points: ["It was made offline.", "No model has read the question."],
    ...(images.length > 0 ? { images: images.map(describeImage) } : {}),
    ...(toolResults.length > 0 ? { toolResults } : {}),
  };
  return JSON.stringify(reply, null, 2);
}

function writeAboutTools({ toolResults }: ChatJob, { topic }: Subject): string {
  const quotes = toolResults.map(({ name, content }) => `The tool ${name} returned: ${content}`);
  return `${quotes.join("\n\n")}\n\nThat is what I know about “${topic}”.`;
}

function writeAboutImages({ images }: ChatJob, { quote }: Subject): string {
  const count = images.length === 1 ? "1 image" : `${images.length} images`;
  const prompt = quote === "" ? "" : ` You wrote: “${quote}”`;
  return `You sent me ${count}: ${images.map(describeImage).join(", ")}.${prompt} I am the emulator and have no eyes, so I can't tell what is in an image.`;
}

function describeImage(url: string): string {
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/is.exec(url) ?? [];
  if (type === undefined || data === undefined) return `an image at ${new URL(url).host}`;
  const bytes = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
  return `an inline ${type} of ${bytes} bytes`;
}

function readSubject({ request, prompt, turn, previousPrompt }: ChatJob): Subject {
  const spoken = request.messages.map((message) => [message.role, readText(message)]);
  return {
    topic: trimEnd(shorten(prompt.replace(LEAD_IN, ""))) || trimEnd(shorten(prompt)) || "nothing yet",
    quote: shorten(prompt),
    model: request.model,
    seed: hash(JSON.stringify([request.model, spoken])),
    turn,
    previousPrompt: previousPrompt === undefined ? undefined : trimEnd(shorten(previousPrompt)),
  };
}

/** Returns the first words of a text on one line, without Markdown characters. */
function shorten(text: string): string {
  const line = text.replace(/[\s|`*<>[\]#\\]+/g, " ").trim();
  const words = [...line];
  const start = words.slice(0, TOPIC_CHARACTERS).join("");
  return words.length <= TOPIC_CHARACTERS ? start : `${start.replace(/\s\S*$/, "")}…`;
}

function trimEnd(text: string): string {
  return text.replace(/[\s.?!:;,。？！]+$/u, "");
}
