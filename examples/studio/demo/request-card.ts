import type { ChatRequest, ChatRequestMessage } from "@sluice/core";
import { demoPrompts } from "./prompts.ts";

const MAX_TEXT = 240;
const MAX_MESSAGES = 4;
const DATA_URI = /^(data:[^;,]*;base64,).{24,}$/s;

/** Describes a request for which no response is scripted: what the gateway read, and prompts that have a response. */
export function formatRequestCard(request: ChatRequest): string {
  return [
    "This is the **offline emulator**. It uses no model. Here is the request that you sent, as the gateway read it:",
    formatFields(request),
    `\`\`\`json\n${JSON.stringify(shortenRequest(request), null, 2)}\n\`\`\``,
    `These prompts have a written reply:\n\n${listSuggestions(request).join("\n")}`,
  ].join("\n\n");
}

/** Describes a request in JSON, for a request in JSON mode. */
export function formatJSONCard({ model, messages }: ChatRequest): string {
  const question = messages.findLast(({ role }) => role === "user");
  return JSON.stringify(
    {
      writtenBy: "the offline emulator, without a model",
      model,
      messages: messages.length,
      question: question ? cutText(readText(question)) : null,
    },
    null,
    2,
  );
}

/** Returns the text of a message. */
export function readText({ content }: ChatRequestMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Lists the URLs of a message's images. */
export function listImages({ content }: ChatRequestMessage): string[] {
  if (typeof content === "string") return [];
  return (content ?? []).flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
}

function formatFields({ model, messages, ...fields }: ChatRequest): string {
  const { tools = [], ...options } = "tools" in fields ? fields : { ...fields, tools: [] };
  const images = messages.flatMap(listImages).length;
  const names = tools.map((tool) => `\`${tool.function.name}\``);
  const set = Object.entries(options).map(
    ([name, value]) => `\`${name}: ${formatCell(JSON.stringify(value))}\``,
  );
  const rows = [
    ["Model", `\`${model}\``],
    ["Messages", formatRoles(messages)],
    ["Options", set.join(" ") || "none"],
    ["Tools", names.join(", ") || "none"],
    ["Pictures", images === 0 ? "none" : String(images)],
  ];
  return ["| Part | Value |", "| --- | --- |", ...rows.map(([part, value]) => `| ${part} | ${value} |`)].join(
    "\n",
  );
}

function formatRoles(messages: readonly ChatRequestMessage[]): string {
  const roles = [...new Set(messages.map(({ role }) => role))];
  const count = (wanted: string) => messages.filter(({ role }) => role === wanted).length;
  return `${messages.length} (${roles.map((role) => `${count(role)} ${role}`).join(", ")})`;
}

function formatCell(json: string): string {
  return json.replace(/[`|]/g, "").slice(0, 60);
}

/** The request with its last messages, and with long texts and Base64 cut. */
function shortenRequest({ messages, ...fields }: ChatRequest): unknown {
  const left = messages.length - MAX_MESSAGES;
  const note = left > 0 ? [`… ${left} earlier messages`] : [];
  return cutTexts({ ...fields, messages: [...note, ...messages.slice(-MAX_MESSAGES)] });
}

function cutTexts(value: unknown): unknown {
  if (typeof value === "string") return cutText(value);
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, cutTexts(part)]));
}

function cutText(text: string): string {
  const [, start] = DATA_URI.exec(text) ?? [];
  if (start !== undefined) return `${text.slice(0, start.length + 16)}… (${text.length} characters)`;
  // whole code points, so that the JSON stays readable
  const signs = [...text.slice(0, 2 * MAX_TEXT)];
  return text.length > MAX_TEXT ? `${signs.slice(0, MAX_TEXT).join("")}… (${text.length} characters)` : text;
}

/** Lists three prompts of the chat. Each turn lists others. */
function listSuggestions({ messages }: ChatRequest): string[] {
  const offered = demoPrompts.filter(
    ({ room, tool, needsImage, after }) => room === "chat" && !tool && !needsImage && !after,
  );
  const start = messages.length - 1;
  return [0, 1, 2].map((step) => `- *${offered[(start + step) % offered.length]?.prompt}*`);
}
