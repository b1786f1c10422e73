import type { ChatRequest } from "@sluice/core";
import { hash } from "../server/hash.js";
import type { ScriptedReply } from "../server/scripted.js";
import { hintsOf } from "./hints.js";
import type { ChatJob } from "./job.js";
import { textOf } from "./message-text.js";
import { sample } from "./sample.js";
import {
  capabilities,
  isSmallTalk,
  longAnswer,
  markdownAnswer,
  type Subject,
  shortAnswer,
  thinking,
} from "./texts.js";
import { type ChosenCall, chooseCalls } from "./tools.js";

/** A reply before limits cut it. */
export interface Draft {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly ChosenCall[];
}

/** Decides the reply to a request, at once or later; undefined leaves it to the emulator. */
export type ChatScript = (request: ChatRequest) => Decision | Promise<Decision>;
type Decision = string | ScriptedReply | undefined;

const TOPIC_CHARACTERS = 60;
const LEAD_IN =
  /^(?:(?:please|now|and|can you|could you|would you)\s+)*(?:tell me(?: something| more)? about|explain(?: to me)?|describe|talk about|what (?:is|are|was|were)|write (?:me )?(?:(?:an?|some) )?(?:\w+ )?about)\s+/i;

/** Drafts a reply: that of the test's function, that of its script, a tool call, JSON, or a text of the emulator. */
export async function draftReply(
  job: ChatJob,
  script: ChatScript | undefined,
  reply: ScriptedReply | undefined,
): Promise<Draft> {
  const scripted = (await script?.(job.request)) ?? reply;
  if (scripted !== undefined) return scriptedDraft(scripted, job);

  const subject = subjectOf(job);
  const calls = chooseCalls(job);
  const content = calls.length > 0 ? "" : contentOf(job, subject);
  const names = calls.map(({ name }) => name);
  return { reasoning: thinking(subject, job.effort, names), content, calls };
}

function scriptedDraft(scripted: string | ScriptedReply, job: ChatJob): Draft {
  const reply = typeof scripted === "string" ? { content: scripted } : scripted;
  const calls = (reply.toolCalls ?? []).map(({ name, arguments: given }) => ({
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}),
  }));
  const reasoning =
    job.effort === "none" ? "" : (reply.reasoning ?? thinking(subjectOf(job), job.effort, []));
  return { reasoning, content: reply.content ?? "", calls };
}

function contentOf(job: ChatJob, subject: Subject): string {
  const { answerSchema, answerExample, faults, images, prompt, toolResults } = job;
  // words of a schema in the question are no values
  const words = prompt.replace(/\{.*\}/s, "");
  if (answerSchema !== undefined) return JSON.stringify(sample(answerSchema, hintsOf(words)), null, 2);
  if (answerExample !== undefined) return JSON.stringify(answerExample, null, 2);
  if (job.wantsJSON || faults.names.has("json")) return jsonAnswer(job, subject);
  if (toolResults.length > 0) return toolAnswer(job, subject);
  if (images.length > 0) return imageAnswer(job, subject);
  if (/what (can|do) you do|what you (can )?do|your (faults|abilities)|list .*faults/i.test(prompt))
    return capabilities();
  if (/\bmarkdown\b/i.test(prompt)) return markdownAnswer(subject);
  // a fault needs a text that is long enough to cut
  if (faults.names.size === 0 && isSmallTalk(prompt)) return shortAnswer(subject);
  return longAnswer(subject);
}

function jsonAnswer({ images, toolResults }: ChatJob, { topic, turn }: Subject): string {
  const answer = {
    topic,
    turn,
    summary: `An answer of the emulator about “${topic}”, as JSON.`,
    points: ["It was made offline.", "No model has read the question."],
    ...(images.length > 0 ? { images: images.map(describeImage) } : {}),
    ...(toolResults.length > 0 ? { toolResults } : {}),
  };
  return JSON.stringify(answer, null, 2);
}

function toolAnswer({ toolResults }: ChatJob, { topic }: Subject): string {
  const quotes = toolResults.map(({ name, content }) => `The tool ${name} returned: ${content}`);
  return `${quotes.join("\n\n")}\n\nThat is what I know about “${topic}”.`;
}

function imageAnswer({ images }: ChatJob, { quote }: Subject): string {
  const count = images.length === 1 ? "1 image" : `${images.length} images`;
  const asked = quote === "" ? "" : ` You wrote: “${quote}”`;
  return `You sent me ${count}: ${images.map(describeImage).join(", ")}.${asked} I am the emulator and have no eyes, so I can't tell what is in a picture.`;
}

function describeImage(url: string): string {
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/is.exec(url) ?? [];
  if (type === undefined || data === undefined) return `an image at ${new URL(url).host}`;
  const bytes = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
  return `an inline ${type} of ${bytes} bytes`;
}

function subjectOf({ request, prompt, turn, earlier }: ChatJob): Subject {
  const spoken = request.messages.map((message) => [message.role, textOf(message)]);
  return {
    topic: withoutEnd(shorten(prompt.replace(LEAD_IN, ""))) || withoutEnd(shorten(prompt)) || "nothing yet",
    quote: shorten(prompt),
    model: request.model,
    seed: hash(JSON.stringify([request.model, spoken])),
    turn,
    earlier: earlier === undefined ? undefined : withoutEnd(shorten(earlier)),
  };
}

/** Returns the first words of a text on one line, without the signs of Markdown. */
function shorten(text: string): string {
  const line = text.replace(/[\s|`*<>[\]#\\]+/g, " ").trim();
  const words = [...line];
  const start = words.slice(0, TOPIC_CHARACTERS).join("");
  return words.length <= TOPIC_CHARACTERS ? start : `${start.replace(/\s\S*$/, "")}…`;
}

function withoutEnd(text: string): string {
  return text.replace(/[\s.?!:;,。？！]+$/u, "");
}
