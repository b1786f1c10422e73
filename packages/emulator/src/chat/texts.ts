import { pick } from "../server/hash.js";
import type { Effort } from "./job.js";
import { chatScenes } from "./scenes.js";

/** Subject of the texts. */
export interface Subject {
  /** Words of the user, shortened, without signs of Markdown. */
  readonly topic: string;
  /** Seed of all choices; equal requests have equal seeds. */
  readonly seed: string;
  readonly turn: number;
  /** Words of the user one turn earlier, shortened. */
  readonly earlier: string | undefined;
}

type Template = (topic: string) => string;

const openings: readonly [Template, ...Template[]] = [
  (topic) =>
    `## ${capital(topic)}\n\nGood question. Here is the short version first, then a little more detail.`,
  (topic) =>
    `## ${topic}\n\nThere are a few ways to look at this, and they fit together better than it seems.`,
  (topic) => `## Notes on ${topic}\n\nLet me start with what matters most and work outwards from there.`,
  (topic) => `## ${capital(topic)}, step by step\n\nNothing here is hard once the pieces have names.`,
  (topic) => `## A first look at ${topic}\n\nI'll keep it brief, and you can ask me to go deeper anywhere.`,
];

const lists: readonly [Template, ...Template[]] = [
  (topic) =>
    `### Three things to know\n\n1. **Start small.** The simplest case of “${topic}” already shows the idea.\n2. **Look at the edges.** What happens when it is empty, late, or twice as large?\n3. **Write it down.** A sentence you can read again beats a memory you can't.`,
  (topic) =>
    `### What helps\n\n- A clear goal: *with “${topic}” out of the way, what would be different?*\n- One change at a time, so that you can tell what worked.\n- A friend who asks "why?" often enough.`,
  (topic) =>
    `### A small plan\n\n- [x] Say what “${topic}” means to you\n- [ ] Find the part that is still unclear\n- [ ] Try it once, and keep what you learn`,
];

const tables: readonly [Template, ...Template[]] = [
  (topic) =>
    `### Side by side\n\n| Approach | Good for | Watch out for |\n| --- | --- | --- |\n| Quick sketch | a feeling for “${topic}” | missing details |\n| Careful study | lasting answers | time |\n| Asking around | surprises | opinions |`,
  () =>
    `### In numbers\n\n| Step | Share of the work | Mood |\n| :-- | --: | :-: |\n| Getting started | 20 % | 🌱 |\n| The long middle | 70 % | 🌧️ |\n| Finishing | 10 % | 🌈 |`,
];

const codes: readonly [Template, ...Template[]] = [
  (topic) =>
    `### As code\n\n\`\`\`ts\nconst topic = ${JSON.stringify(topic)};\n\nfor (const word of topic.split(" ")) {\n  console.log(word.length, word);\n}\n\`\`\``,
  (topic) =>
    `### As code\n\n\`\`\`python\ntopic = ${JSON.stringify(topic)}\n\ndef outline(text: str) -> list[str]:\n    return [word.title() for word in text.split()]\n\nprint(outline(topic))\n\`\`\``,
];

const scripts: readonly [Template, ...Template[]] = [
  () =>
    `### Around the world\n\n- 中文：慢慢来，比较快。\n- العربية: خطوة صغيرة كل يوم تكفي.\n- हिन्दी: धीरे-धीरे सब कुछ समझ में आता है।\n- Emoji: 👩‍💻 📚 👨‍👩‍👧‍👦 🚀`,
  () =>
    `### The same thought elsewhere\n\n> 千里之行，始于足下。\n>\n> من سار على الدرب وصل.\n>\n> बूँद-बूँद से सागर भरता है।\n\nOr simply: 🧑‍🌾 → 🌱 → 🌳`,
];

const closings: readonly [Template, ...Template[]] = [
  (topic) => `That is “${topic}” in a nutshell. Which part would you like to see in more detail?`,
  () => "If one of these points is the one you came for, tell me and I'll stay with it.",
  () => "Shall I turn this into a checklist, or into an example you can run?",
];

const thoughts: readonly string[] = [
  "First I should settle what is being asked, and for whom.",
  "A short overview comes first; details can follow in a list.",
  "An example would make it easier to picture, so I'll add one.",
  "A comparison may help, if it stays small enough to read at a glance.",
  "I should not promise more than I know, and say where it depends.",
  "Is there a simpler way to put it? Shorter sentences, plain words.",
  "Some readers think in other languages; a line for them costs nothing.",
  "Let me check the order once more: overview, list, example, question.",
  "That covers it. I can answer now.",
];

const thoughtsPerEffort: Readonly<Record<Effort, number>> = { none: 0, low: 1, high: 4, max: 9 };

/** Writes a long answer in Markdown: headings, a list, a table, code or other scripts, and a question. */
export function longAnswer({ topic, seed, turn, earlier }: Subject): string {
  const extras = [
    pick(tables, `${seed} table`),
    pick(codes, `${seed} code`),
    pick(scripts, `${seed} script`),
  ];
  // two of the three, so that answers differ in structure too
  extras.splice(pick([0, 1, 2], `${seed} skip`), 1);
  const middle = [pick(lists, `${seed} list`), ...extras];
  const parts = [pick(openings, `${seed} opening`), ...middle, pick(closings, `${seed} closing`)];
  const answer = parts.map((part) => part(topic)).join("\n\n");
  return turn > 1 ? `${followUp(turn, earlier)}\n\n${answer}` : answer;
}

/** Writes a line or two, for a greeting, thanks or a single word. */
export function shortAnswer({ topic, seed, turn, earlier }: Subject): string {
  const answer = greeting(topic) ?? pick(shortReplies, seed)(topic);
  return turn > 1 ? `${answer} ${followUp(turn, earlier)}` : answer;
}

/** Checks if a short answer fits a text. */
export function isSmallTalk(text: string): boolean {
  return greeting(text) !== undefined || (text.split(/\s+/).length <= 2 && text.length <= 16);
}

const shortReplies: readonly [Template, ...Template[]] = [
  (topic) => `${capital(topic)}? Happy to help. What would you like to know about it?`,
  (topic) => `“${topic}” is a good place to start. Shall I give you an overview, or an example? ✨`,
];

function greeting(text: string): string | undefined {
  if (/^(你好|您好|嗨)/.test(text)) return "你好！👋 今天想聊点什么？";
  if (/^(مرحبا|السلام|أهلا)/.test(text)) return "أهلاً وسهلاً! 👋 كيف يمكنني أن أساعدك؟";
  if (/^(नमस्ते|नमस्कार)/.test(text)) return "नमस्ते! 👋 मैं आपकी क्या मदद कर सकता हूँ?";
  if (/^(hi|hello|hey|hiya|good (morning|evening|day))\b/i.test(text) && text.length <= 24)
    return "Hi there! 👋 What would you like to talk about?";
  if (/^(thanks|thank you|thx|ta)\b/i.test(text) && text.length <= 32) return "You're welcome! 😊";
  if (/^(bye|goodbye|see you)\b/i.test(text) && text.length <= 24) return "Goodbye! 👋 Come back any time.";
  return undefined;
}

function followUp(turn: number, earlier: string | undefined): string {
  return `*(Turn ${turn} of our conversation${earlier ? `; before this you said “${earlier}”` : ""}.)*`;
}

/** Writes the thinking before an answer or tool calls: longer with more effort, empty for none. */
export function thinking({ topic, seed }: Subject, effort: Effort, calls: readonly string[]): string {
  const count = thoughtsPerEffort[effort];
  if (count === 0) return "";
  const start = pick([0, 1, 2], `${seed} thought`);
  const chosen = count < thoughts.length ? thoughts.slice(start, start + count) : thoughts;
  const purpose = calls.length > 0 ? `I need ${calls.join(" and ")} for that.` : undefined;
  return [`The user brings up “${topic}”.`, ...(purpose ? [purpose, chosen[0]] : chosen)].join(" ");
}

/** Lists the abilities of the emulator, with every scene. */
export function capabilities(): string {
  const rows = Object.entries(chatScenes).map(([name, effect]) => `| \`[[${name}]]\` | ${effect} |`);
  return `## What I can do\n\nI'm an emulator: a stand-in for the gateway that answers offline and free of charge. I stream, think out loud, read images, answer in JSON and call the tools you offer (say “use the tool”).\n\nPut one of these into your message and I'll misbehave on request:\n\n| Scene | What happens |\n| --- | --- |\n${rows.join("\n")}`;
}

function capital(text: string): string {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("");
}
