import type { Client } from "@sluice/core";
import { toJSONSchema } from "@sluice/core/schemas";
import { flatten } from "./flatten.js";
import { NotSent } from "./not-sent.js";
import type { ProgressReport } from "./progress.js";
import type { Saved } from "./save.js";

/** Part of a result: a text, the URL of a file, or a small image as Base64. */
export type Content =
  | { type: "text"; text: string }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string }
  | { type: "image"; data: string; mimeType: string };

/** Result of a tool. */
export interface Result {
  readonly content: Content[];
  /** The result as data, for programs. */
  readonly structuredContent?: Record<string, unknown>;
}

/** Arguments of a call, as the model wrote them. */
export type Input = Readonly<Record<string, unknown>>;

/** Settings of one call. */
export interface Call {
  readonly client: Client;
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal;
  /** Key of a paid call. Undefined for a free call. */
  readonly idempotencyKey: string | undefined;
  readonly report: ProgressReport;
  /** Saves the file at a URL in the folder, if there is a folder. */
  readonly save: (url: string, name: string) => Promise<Saved>;
}

/** A tool of the server. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  /** Schema of `structuredContent`. Absent for a tool without it. */
  readonly outputSchema?: ObjectSchema;
  /** Feature of a proxy that stores the keys of this tool. Absent for a free tool. */
  readonly paid?: "idempotency" | "resumable-streams";
  /** True if the result shows its images. */
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
const SERVER_FIELDS = ["model", "stream", "stream_options"];
/** Fields of chats that the server accepts but does not list: an agent has its own tools. */
const UNLISTED_FIELDS = ["tools", "tool_choice"];
const KEY = {
  type: "string",
  pattern: "^[!-~]{8,255}$",
  description: "Random; the same if you repeat the call.",
};

/**
 * Creates the schema of a paid tool: the request of a model, without the fields that the server sets, and with a key.
 * The schema is flat and short, because the agent reads all schemas. The client checks each rule of the model before it
 * sends a request.
 */
export function createRequestSchema(model: string): ObjectSchema {
  const { properties = {}, required = [] } = toJSONSchema(model) ?? {};
  const hidden = "messages" in properties ? [...SERVER_FIELDS, ...UNLISTED_FIELDS] : SERVER_FIELDS;
  const fields = Object.entries(properties)
    .filter(([name, field]) => !hidden.includes(name) && !("not" in field))
    .map(([name, field]) => [name, flatten(field)]);
  return {
    type: "object",
    properties: { ...Object.fromEntries(fields), idempotency_key: KEY },
    required: required.filter((name) => !SERVER_FIELDS.includes(name)),
  };
}

/** Creates the name of a model's tool. Hosts accept only letters, digits, `_` and `-`. */
export function createToolName(action: string, model: string): string {
  return `${action}_${model.replace(/[^\w-]/g, "_")}`;
}

export function createText(value: string): Content {
  return { type: "text", text: value };
}

/** Creates the schema of a result with required string fields. */
export function createOutputSchema(...names: readonly string[]): ObjectSchema {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties, required: [...names] };
}

/**
 * Reads a string argument.
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
