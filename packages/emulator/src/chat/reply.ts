import type { ChatRequest } from "@sluice/core";
import { hash } from "../hash.js";
import { type Ask, textOf } from "./ask.js";
import { hintsOf } from "./hints.js";
import { sample } from "./sample.js";
import { capabilities, isSmallTalk, longAnswer, type Subject, shortAnswer, thinking } from "./texts.js";
import { type ChosenCall, chooseCalls } from "./tools.js";

/** What the model has in mind to say, before limits cut it. */
export interface Draft {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly ChosenCall[];
}

/** What a test wants the model to say. */
export interface ScriptedReply {
  readonly content?: string;
  /** Thinking; only models and requests that think show it. */
  readonly reasoning?: string;
  /** `arguments`: a value, sent as JSON, or the very text to send, valid or not. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: unknown }[];
}

/** Says what the model answers to a request; undefined leaves the answer to the emulator. */
export type ChatScript = (request: ChatRequest) => string | ScriptedReply | undefined;

const TOPIC_CHARACTERS = 60;
const LEAD_IN =
  /^(?:(?:please|now|and|can you|could you|would you)\s+)*(?:tell me(?: something| more)? about|explain(?: to me)?|describe|talk about|what (?:is|are|was|were)|write (?:me )?(?:(?:an?|some) )?(?:\w+ )?about)\s+/i;

/** Decides what to say: the script's words, a tool call, JSON, or one of the emulator's own texts. */
export function draftReply(ask: Ask, script: ChatScript | undefined): Draft {
  const scripted = script?.(ask.request);
  if (scripted !== undefined) return scriptedDraft(scripted, ask);

  const subject = subjectOf(ask);
  const calls = chooseCalls(ask);
  const content = calls.length > 0 ? "" : contentOf(ask, subject);
  const names = calls.map(({ name }) => name);
  return { reasoning: thinking(subject, ask.effort, names), content, calls };
}

function scriptedDraft(scripted: string | ScriptedReply, ask: Ask): Draft {
  const reply = typeof scripted === "string" ? { content: scripted } : scripted;
  const calls = (reply.toolCalls ?? []).map(({ name, arguments: given }) => ({
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}),
  }));
  const reasoning =
    ask.effort === "none" ? "" : (reply.reasoning ?? thinking(subjectOf(ask), ask.effort, []));
  return { reasoning, content: reply.content ?? "", calls };
}

function contentOf(ask: Ask, subject: Subject): string {
  const { answerSchema, cues, images, prompt, toolResults } = ask;
  if (answerSchema !== undefined) return JSON.stringify(sample(answerSchema, hintsOf(prompt)), null, 2);
  if (ask.wantsJSON || cues.names.has("json")) return jsonAnswer(ask, subject);
  if (toolResults.length > 0) return toolAnswer(ask, subject);
  if (images.length > 0) return imageAnswer(ask, subject);
  if (/what (can|do) you do|your (scenes|abilities)|list .*scenes/i.test(prompt)) return capabilities();
  // a scene needs a text that is long enough to be cut
  if (cues.names.size === 0 && isSmallTalk(prompt)) return shortAnswer(subject);
  return longAnswer(subject);
}

function jsonAnswer({ images, toolResults }: Ask, { topic, turn }: Subject): string {
  const answer = {
    topic,
    turn,
    summary: `A short, structured answer about ${topic}.`,
    points: ["start small", "look at the edges", "write it down"],
    ...(images.length > 0 ? { images: images.map(describeImage) } : {}),
    ...(toolResults.length > 0 ? { toolResults } : {}),
  };
  return JSON.stringify(answer, null, 2);
}

function toolAnswer({ toolResults }: Ask, { topic }: Subject): string {
  const quotes = toolResults.map(({ name, content }) => {
    const quoted = content.split("\n").map((line) => `> ${line}`);
    return `\`${name}\` says:\n\n${quoted.join("\n")}`;
  });
  return `${quotes.join("\n\n")}\n\nThat should answer your question about ${topic}. Anything else?`;
}

function imageAnswer({ images }: Ask, subject: Subject): string {
  const list = images.map((url, index) => `${index + 1}. ${describeImage(url)}`).join("\n");
  const count = images.length === 1 ? "1 image" : `${images.length} images`;
  return `You sent me ${count}:\n\n${list}\n\n${shortAnswer(subject)}`;
}

function describeImage(url: string): string {
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/is.exec(url) ?? [];
  if (type === undefined || data === undefined) return `an image at ${new URL(url).host}`;
  const bytes = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
  return `an inline ${type} of ${bytes} bytes`;
}

function subjectOf({ request, prompt, turn, earlier }: Ask): Subject {
  const spoken = request.messages.map((message) => [message.role, textOf(message)]);
  return {
    topic: shorten(prompt.replace(LEAD_IN, "")) || shorten(prompt) || "nothing in particular",
    seed: hash(JSON.stringify([request.model, spoken])),
    turn,
    earlier: earlier === undefined ? undefined : shorten(earlier),
  };
}

/** The first words of a text on one line, without what Markdown would take for markup. */
function shorten(text: string): string {
  const line = text.replace(/[\s|`*<>[\]#\\]+/g, " ").trim();
  const words = [...line];
  const start = words.slice(0, TOPIC_CHARACTERS).join("");
  const short = words.length <= TOPIC_CHARACTERS ? start : `${start.replace(/\s\S*$/, "")}…`;
  return short.replace(/[\s.?!:;,。？！]+$/u, "");
}
