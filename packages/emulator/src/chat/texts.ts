import { faultTables } from "../server/fault-tables.js";
import { pick } from "../server/hash.js";
import type { Effort } from "./job.js";
import { findKnownReply } from "./known-replies.js";

/** Subject of the texts. */
export interface Subject {
  /** First words of the prompt, without Markdown characters and without a lead-in such as “tell me about”. */
  readonly topic: string;
  /** First words of the prompt, with the lead-in and the last character. */
  readonly quote: string;
  readonly model: string;
  /** Seed of all choices. Equal requests have equal seeds. */
  readonly seed: string;
  readonly turn: number;
  /** First words of the previous prompt. */
  readonly previousPrompt: string | undefined;
}

const EMULATOR =
  "This text comes from the Sluice emulator, which stands in for the gateway. It is offline and free of charge.";

const details: readonly [string, ...string[]] = [
  "The text arrives word by word, at the pace of a person who reads. You can stop it, reload the page or lose the network, and your app then does what it will do with a real model.",
  "The request was checked by the rules of the gateway, and the response has the fields of a real one: an id, the reason for its end, and the tokens that it would be billed for. So your app runs the same code as later.",
  "Each piece of this text is an event of the stream, as the gateway sends it. Your app adds the pieces to one message, stores it, and shows when it is complete.",
];

const nextSteps: readonly [string, ...string[]] = [
  "Three things are worth a try. Ask “What can you do?” to see the failures that the emulator can cause. Say “use the tool” if your app offers a tool. Ask for Markdown to see headings, a table and code.",
  "To decide the replies yourself, give the emulator a script, or a function in a test. To see a real model, set the address and the key of your gateway. Nothing else in your app changes.",
];

/** Writes a long reply: what the emulator knows about the question, and where the text comes from. */
export function writeLongReply(subject: Subject): string {
  const { seed, turn, quote, model } = subject;
  const text =
    findKnownReply(quote) ??
    `You wrote: “${quote}” The emulator has no model that could think about it, so it can't reply as ${model} would. It sends these sentences instead, and they are long enough to be read while they come.`;
  const parts = [text, EMULATOR, pick(details, `${seed} detail`), pick(nextSteps, `${seed} next`)];
  return [...(turn > 1 ? [writeFollowUp(subject)] : []), ...parts].join("\n\n");
}

/** Writes a short reply to a greeting, thanks or a single word. */
export function writeShortReply(subject: Subject): string {
  const { topic, turn } = subject;
  const text =
    findGreeting(topic) ?? `“${topic}” is one word. Write a question about it, and I reply at length.`;
  return turn > 1 ? `${text} ${writeFollowUp(subject)}` : text;
}

/** Writes a reply with every kind of Markdown, for an app that renders it. */
export function writeMarkdown({ topic }: Subject): string {
  return `## Markdown about ${topic}

This is **bold**, *italic*, \`code\` and a [link](https://example.com).

1. A numbered item
2. Another one, with a task list below
   - [x] done
   - [ ] to do

> A quote.

| Sign | Meaning |
| --- | --- |
| \`#\` | a heading |
| \`-\` | an item |

\`\`\`ts
const topic = ${JSON.stringify(topic)};
console.log(topic.length);
\`\`\`

Other scripts: 千里之行，始于足下。 خطوة صغيرة كل يوم تكفي. बूँद-बूँद से सागर भरता है। 👨‍👩‍👧‍👦`;
}

/** Checks if a text needs only a short reply. */
export function isSmallTalk(text: string): boolean {
  return findGreeting(text) !== undefined || (!/\s/.test(text) && text.length <= 16);
}

function findGreeting(text: string): string | undefined {
  if (/^(你好|您好|嗨)/.test(text)) return "你好！👋 今天想聊点什么？";
  if (/^(مرحبا|السلام|أهلا)/.test(text)) return "أهلاً وسهلاً! 👋 كيف يمكنني أن أساعدك؟";
  if (/^(नमस्ते|नमस्कार)/.test(text)) return "नमस्ते! 👋 मैं आपकी क्या मदद कर सकता हूँ?";
  if (/^(hi|hello|hey|hiya|good (morning|evening|day))\b/i.test(text) && text.length <= 24)
    return "Hi there! 👋 What would you like to talk about?";
  if (/^(thanks|thank you|thx|ta)\b/i.test(text) && text.length <= 32) return "You're welcome! 😊";
  if (/^(bye|goodbye|see you)\b/i.test(text) && text.length <= 24) return "Goodbye! 👋 Come back any time.";
  if (/^(continue|go on)\b/i.test(text) && text.length <= 24)
    return "Here the rest of the message would follow. The emulator does not remember where it was cut.";
  return undefined;
}

function writeFollowUp({ turn, previousPrompt }: Subject): string {
  return `This is turn ${turn} of our conversation.${previousPrompt ? ` Before it you wrote: “${previousPrompt}”` : ""}`;
}

const thoughts: readonly string[] = [
  "There is no model here, so I say what I know and where the text comes from.",
  "The reply has to be true, in plain words.",
  "It has to be long enough to be read while it comes.",
  "I should say that nothing was billed.",
  "The reader may wonder what else I can do; one sentence about that is enough.",
  "Is there a shorter way to put it? Short sentences are easier to read.",
  "I use no table and no code, because nobody asked for them.",
  "Let me check the order once more: the reply, then the emulator, then the next steps.",
  "That covers it. I can reply now.",
];

const thoughtsPerEffort: Readonly<Record<Effort, number>> = { none: 0, low: 1, high: 4, max: 9 };

/** Writes the thinking before a reply or tool calls. More effort gives a longer text, and no effort an empty one. */
export function writeThinking({ topic, seed }: Subject, effort: Effort, calls: readonly string[]): string {
  const count = thoughtsPerEffort[effort];
  if (count === 0) return "";
  const start = pick([0, 1, 2], `${seed} thought`);
  const chosen = count < thoughts.length ? thoughts.slice(start, start + count) : thoughts;
  const purpose = calls.length > 0 ? [`I need ${calls.join(" and ")} for that.`] : chosen;
  return [`The user wrote about “${topic}”.`, ...purpose].join(" ");
}

/** Lists the abilities of the emulator, with every fault. */
export function listCapabilities(): string {
  const faults = Object.entries(faultTables.chat).map(([name, effect]) => `[[${name}]]: ${effect}.`);
  return `I am the Sluice emulator, a stand-in for the gateway. I reply offline and free of charge. I stream, think before I reply, look at the size of images, reply in JSON, and call the tools that you offer if you say “use the tool”.

I also fail on request. Write one of these words into your message, with its brackets:

${faults.join("\n\n")}`;
}
