import { noteUnknownOptions, print } from "../base/note-options.js";
import { assertWritable, type StandardSchema } from "../base/standard-schema.js";
import { ConfigurationError } from "../vocabulary/errors.js";
import type { ToolDefinition } from "./protocol/tool-schema.js";

/** A file that a tool has made, such as a video. */
export interface ThreadFile {
  /** Media type of the file: `video/mp4`. */
  readonly type: string;
  /** Address of the file: http(s), or a data URL. A link of the gateway works for 24 hours. */
  readonly url: string;
}

/** A message of the chat, as its tools see it. */
export interface ToolContextMessage {
  /** Id of the message, unique in its chat. */
  readonly id: string;
  /** Author of the message. */
  readonly role: "system" | "user" | "assistant";
  /** Text of the message. */
  readonly content: string;
  /** Images beside a user's text, or made by the tools of a response: http(s) or data URLs. */
  readonly images?: readonly string[];
  /** Other files that the tools of a response have made. */
  readonly files?: readonly ThreadFile[];
}

/** Context of a call, given to `execute` beside the input. */
export interface ToolContext {
  /** Aborts when the chat is stopped, and when the tool's time is over. */
  readonly signal: AbortSignal;
  /** Id of the call. */
  readonly toolCallId: string;
  /** The messages of the chat up to the call. */
  readonly messages: readonly ToolContextMessage[];
  /** Value that an earlier run of this call has saved; undefined in the first one. */
  readonly savedState: unknown;
  /**
   * Saves a value with the call: JSON, such as the handle of a task. After a reload the call runs again with it, where
   * the chat has a `storage` and the browser has Web Locks. A running call that has saved nothing is cancelled instead.
   * Resolves when the storage has it, after 0.5 s at most.
   *
   * @throws {TypeError} for a value that has no JSON
   */
  saveState(value: unknown): Promise<void>;
  /** Reports the share of the work that is done, from 0 to 1, as `progress` of the call. */
  reportProgress(share: number): void;
  /**
   * Attaches a file to the response: in its `images` if the type begins with `image/`, otherwise in its `files`. The model
   * does not get it.
   *
   * @throws {TypeError} for an address that is neither http(s) nor a data URL of an image, a video or a sound
   */
  attachFile(file: ThreadFile): void;
}

/** A tool that a chat runs when the model calls it. Created by {@link defineTool}. */
export interface Tool<Input = unknown, Output = unknown> {
  /** Name by which the model calls the tool. */
  readonly name: string;
  /**
   * Writes the tool as a request offers it to the model.
   *
   * @throws {ConfigurationError} if the schema of `inputSchema` cannot be written as JSON Schema
   */
  definition(): Promise<ToolDefinition>;
  /** Checks and types the arguments; absent where `inputSchema` was a plain JSON Schema. */
  readonly schema?: StandardSchema<Input>;
  /** Milliseconds until a call that is still running counts as failed. */
  readonly timeoutMs: number;
  /** Runs the call; absent where the call waits for `addToolOutput`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /** True if the user has to approve a call first. Only `false` lets it run at once. */
  needsApproval(input: Input): boolean | Promise<boolean>;
}

/** Options of {@link defineTool}. */
export interface ToolOptions<Input, Output> {
  /** Name of the tool: 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** Explanation for the model: what the tool does and when to call it. */
  readonly description?: string;
  /**
   * Schema of the arguments: a valibot schema, another schema that has a JSON Schema, or a plain JSON Schema. Of a plain
   * one only the outermost `type` is checked, `"object"` where it has none. `withJSONSchema` adds a JSON Schema to a
   * schema whose library cannot write one.
   */
  readonly inputSchema: StandardSchema<Input> | Readonly<Record<string, unknown>>;
  /** Runs the call. Without it the call waits for `addToolOutput`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /**
   * True if the user has to approve a call first. A function has to decide within `timeoutMs`. Only `false` lets
   * a call run at once. Any other result, and an error, waits for the user like `true`, with a `warning`.
   *
   * @default false
   */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>);
  /** Milliseconds until a call that is still checked or running counts as failed. @default 60_000 */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;

/**
 * Defines a tool for a chat. Arguments are checked before `execute` runs; if they are wrong, the model gets
 * an error and the chat continues. `execute` must return a string or a value that has JSON.
 *
 * @throws {ConfigurationError} for a wrong name, or a schema without a JSON Schema. A valibot
 *   schema is written when a request needs it: one that has no JSON Schema (`v.date()`) ends that turn as `not-sent`.
 * @example
 * ```ts
 * import * as v from "valibot";
 *
 * const weather = defineTool({
 *   name: "weather",
 *   description: "The weather of a city, now",
 *   inputSchema: v.object({ city: v.string() }),
 *   execute: async ({ city }, { signal }) => (await fetch(`/weather/${city}`, { signal })).json(),
 * });
 * const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: [weather] });
 * ```
 */
export function defineTool<Input, Output>(options: ToolOptions<Input, Output>): Tool<Input, Output> {
  noteUnknownOptions("defineTool", options, { warn: print });
  const name: unknown = options?.name;
  if (typeof name !== "string" || !/^[\w-]{1,64}$/.test(name))
    throw new ConfigurationError(
      `name: a tool's name has 1 to 64 letters, digits, _ and -, not ${JSON.stringify(name)}`,
    );
  const { description, inputSchema, execute } = options;
  const { needsApproval = false, timeoutMs = TIMEOUT_MS } = options;
  if (typeof inputSchema !== "object" && typeof inputSchema !== "function")
    throw new ConfigurationError(`inputSchema: the tool "${name}" needs the schema of its arguments`);
  const schema = isSchema<Input>(inputSchema) ? inputSchema : undefined;
  const path = `inputSchema of the tool "${name}"`;
  if (schema) assertWritable(schema, path);
  return {
    name,
    async definition() {
      const described = {
        name,
        ...(description !== undefined && { description }),
        parameters: schema ? await loadJSONSchema(schema, path) : { ...inputSchema },
      };
      return { type: "function", function: described };
    },
    ...(schema && { schema }),
    timeoutMs,
    ...(execute && { execute: (input, context) => execute(input, context) }),
    needsApproval: (input) => (typeof needsApproval === "function" ? needsApproval(input) : needsApproval),
  };
}

/** Writes a schema as JSON Schema. The writer is loaded for the first tool that has a schema. */
async function loadJSONSchema(schema: StandardSchema, path: string): Promise<Record<string, unknown>> {
  const { writeJSONSchema } = await import("./json-schema.js");
  return writeJSONSchema(schema, path);
}

function isSchema<Input>(schema: object): schema is StandardSchema<Input> {
  return "~standard" in schema;
}
