import { models } from "@sluice/core/schemas";
import type { ChatTarget } from "@sluice/react";
import type { Work } from "../feed.js";

/** Server of the requests, as the code names it. */
export interface Server {
  /** Address as TypeScript: `"https://app.example.com"`. */
  readonly code: string;
  /** Address in a shell. */
  readonly shell: string;
  /** True for a gateway, which wants a key: the environment has it. A proxy adds its own. */
  readonly needsKey?: boolean;
}

/** Names a proxy by its address. */
export function proxyAt(url: string): Server {
  return { code: JSON.stringify(url), shell: url };
}

export type ChatWork = Extract<Work, { readonly room: "chat" }>;

const QUESTION = "Why is the sky blue?";
/** Length from which a question is cut. */
const LONG_QUESTION = 240;

/** The tool that stands for those of the room. */
export const exampleTool = {
  name: "save_note",
  description: "Saves a note for the user",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

/** Says if the room offers tools to a model: those that call none get none. */
export function offersTools({ tools = [] }: ChatWork, { model }: ChatTarget): boolean {
  const row = Object.values(models).find(({ id }) => id === model);
  return tools.length > 0 && !(row && "tools" in row && !row.tools);
}

/** The question of the room, or one that stands in. */
export function questionOf({ question }: ChatWork): string {
  const text = question?.trim() || QUESTION;
  return text.length > LONG_QUESTION ? `${text.slice(0, LONG_QUESTION)}…` : text;
}

/** The models of the room: two where it compares them. */
export function targetsOf({ target, compared }: ChatWork): readonly ChatTarget[] {
  return compared ? [target, compared] : [target];
}

/** The request that the room would send to a model, for `streamChat`. */
export function chatRequestOf(work: ChatWork, target: ChatTarget): object {
  const { instructions } = work;
  const question = { role: "user", content: questionOf(work) };
  return {
    model: target.model,
    messages: instructions ? [{ role: "system", content: instructions }, question] : [question],
    ...target.params,
    ...(offersTools(work, target) && { tools: [{ type: "function", function: exampleTool }] }),
  };
}

/** Width of a line of a snippet. */
const WIDTH = 54;
/** Length from which a string is too long for a snippet: data URIs of pictures. */
const LONG = 400;
/** Address that stands in for a file. */
const STAND_IN = "https://example.com/picture.png";

/** Address that stands for a file in a form, up to the name of the file. */
const FILE = /^https:\/\/file\.invalid\/(?:.*\/)?/;

/**
 * Writes a value as TypeScript, on one line if it fits. Files and long strings become an address.
 *
 * @param before text on the same line, after the indent of `depth`
 */
export function literal(value: unknown, depth = 0, before = ""): string {
  const flat = inline(value);
  const isScalar = typeof value !== "object" || value === null;
  // a bracket and a semicolon may follow
  if (2 * depth + before.length + flat.length + 2 <= WIDTH || isScalar) return flat;
  const indent = "  ".repeat(depth);
  const lines = Array.isArray(value)
    ? value.map((item) => `${indent}  ${literal(item, depth + 1)},\n`).join("")
    : fields(value, depth + 1);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines}${indent}${close}`;
}

/** Writes a value as JSON, as the snippets send it. */
export function json(value: unknown): string {
  return JSON.stringify(value, (_, item) => standIn(item), 2);
}

/** Writes the fields of an object, one a line, to stand in a longer object. */
export function fields(value: object, depth: number): string {
  const indent = "  ".repeat(depth);
  return entriesOf(value)
    .map(([key, item]) => {
      const before = `${name(key)}: `;
      const text = literal(item, depth, before);
      const isLong = typeof item === "string" && indent.length + before.length + text.length + 1 > WIDTH;
      return `${indent}${isLong ? `${before.trim()}\n${indent}  ` : before}${text},\n`;
    })
    .join("");
}

/** Writes an import of named things. */
export function importOf(names: readonly string[], source: string): string {
  const line = `import { ${names.join(", ")} } from "${source}";`;
  return line.length <= WIDTH
    ? line
    : `import {\n${names.map((it) => `  ${it},\n`).join("")}} from "${source}";`;
}

function inline(value: unknown): string {
  const item = standIn(value);
  if (Array.isArray(item)) return `[${item.map(inline).join(", ")}]`;
  if (typeof item !== "object" || item === null) return JSON.stringify(item);
  const entries = entriesOf(item);
  if (entries.length === 0) return "{}";
  return `{ ${entries.map(([key, it]) => `${name(key)}: ${inline(it)}`).join(", ")} }`;
}

function standIn(value: unknown): unknown {
  if (typeof value === "string" && FILE.test(value)) return value.replace(FILE, "https://example.com/");
  return value instanceof Blob || (typeof value === "string" && value.length > LONG && /^data:/.test(value))
    ? STAND_IN
    : value;
}

function entriesOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined);
}

function name(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
