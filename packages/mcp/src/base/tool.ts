import type { Client } from "@sluice/core";
import { toJSONSchema } from "@sluice/core/schemas";
import { flatten } from "./flatten.js";
import { NotSent } from "./not-sent.js";
import type { Report } from "./progress.js";
import type { Saved } from "./save.js";

/** Part of a result: a text, the address of a file, or a small image as Base64. */
export type Content =
  | { type: "text"; text: string }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string }
  | { type: "image"; data: string; mimeType: string };

/** Result of a tool. */
export interface Result {
  readonly content: Content[];
  /** The same as data, for programs. */
  readonly structuredContent?: Record<string, unknown>;
}

/** Arguments of a call, as the model wrote them. */
export type Input = Readonly<Record<string, unknown>>;

/** Settings of one call. */
export interface Call {
  readonly client: Client;
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal;
  /** Name of what is paid for; undefined for a call that costs nothing. */
  readonly idempotencyKey: string | undefined;
  readonly report: Report;
  /** Saves the file at a link in the folder, if there is one. */
  readonly save: (url: string, name: string) => Promise<Saved>;
}

/** A tool of the server. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  /** Schema of `structuredContent`; absent for a tool without it. */
  readonly outputSchema?: ObjectSchema;
  /** Offer of a proxy that knows the calls of this tool by their keys; absent for a tool that costs nothing. */
  readonly paid?: "once" | "chat-once";
  /** True if the images of a result are shown, too. */
  readonly showsImages?: true;
  run(input: Input, call: Call): Promise<Result>;
}

/** JSON Schema (2020-12) of an object. */
export type ObjectSchema = {
  type: "object";
  properties: Record<string, Record<string, unknown>>;
  required?: string[];
};

/** Fields that the server sets. */
const OWN = ["model", "stream", "stream_options"];
/** Fields of chats that are accepted, and are not worth their place in the list: an agent has its own tools. */
const UNLISTED = ["tools", "tool_choice"];
const KEY = {
  type: "string",
  pattern: "^[!-~]{8,255}$",
  description: "Random; the same if you repeat the call.",
};

/**
 * Returns the arguments of a paid tool: the request of a model, without what the server sets, and with a key. The schema is
 * flat and short, because the agent reads all of them: the client checks each rule of the model before it sends.
 */
export function requestSchema(model: string): ObjectSchema {
  const { properties = {}, required = [] } = toJSONSchema(model) ?? {};
  const hidden = "messages" in properties ? [...OWN, ...UNLISTED] : OWN;
  const fields = Object.entries(properties)
    .filter(([name, field]) => !hidden.includes(name) && !("not" in field))
    .map(([name, field]) => [name, flatten(field)]);
  return {
    type: "object",
    properties: { ...Object.fromEntries(fields), idempotency_key: KEY },
    required: required.filter((name) => !OWN.includes(name)),
  };
}

/** Returns the name of the tool of a model. Hosts take letters, digits, `_` and `-` alone. */
export function toolName(verb: string, model: string): string {
  return `${verb}_${model.replace(/[^\w-]/g, "_")}`;
}

export function text(value: string): Content {
  return { type: "text", text: value };
}

/** Returns the schema of a result whose fields are texts that are always there. */
export function outputOf(...names: readonly string[]): ObjectSchema {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties, required: [...names] };
}

/**
 * Reads a text of the arguments.
 *
 * @throws {NotSent} for another value
 */
export function readText(input: Input, name: string): string {
  const value = input[name];
  if (typeof value === "string" && value !== "") return value;
  throw new NotSent(
    `Nothing was sent: ${name} must be a text that is not empty, got ${JSON.stringify(value)}.`,
  );
}
