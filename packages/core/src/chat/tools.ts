import { noteUnknownOptions, print } from "../base/note-options.js";
import type { StandardSchema } from "../base/standard-schema.js";
import { assertWritable, writeJSONSchema } from "../base/write-json-schema.js";
import { ConfigurationError } from "../types/errors.js";
import { withJSONSchema } from "./json-schema.js";
import type { ToolDefinition } from "./protocol/tool-schema.js";

/** A file that a tool has created, such as a video. */
export interface ThreadFile {
  /** Media type of the file: `video/mp4`. */
  readonly type: string;
  /** Address of the file: http(s), or a data URL. A link of the gateway works for 24 hours. */
  readonly url: string;
}

/** A message of the chat, as tools get it. */
export interface ToolContextMessage {
  /** Id of the message, unique in its chat. */
  readonly id: string;
  /** Author of the message. */
  readonly role: "system" | "user" | "assistant";
  /** Text of the message. */
  readonly content: string;
  /** Images of a user message, or created by the tools of a response: http(s) or data URLs. */
  readonly images?: readonly string[];
  /** Other files created by the tools of a response. */
  readonly files?: readonly ThreadFile[];
}

/** Context of a call: the second argument of `execute`. */
export interface ToolContext {
  /** Aborts when the chat stops, and after the tool's timeout. */
  readonly signal: AbortSignal;
  /** Id of the call. */
  readonly toolCallId: string;
  /** The messages of the chat up to the call. */
  readonly messages: readonly ToolContextMessage[];
  /** Value that an earlier run of this call saved; undefined in the first run. */
  readonly savedState: unknown;
  /**
   * Saves a JSON value with the call, such as the handle of a task. After a reload, the call runs again with it, if the
   * chat has a `storage` and the browser has Web Locks. A call without a saved value is cancelled instead. Resolves
   * when the storage has written the value, after at most 0.5 s.
   *
   * @throws {TypeError} for a value without a JSON form
   */
  saveState(value: unknown): Promise<void>;
  /** Reports the completed share of the work, from 0 to 1, as `progress` of the call. */
  reportProgress(share: number): void;
  /**
   * Attaches a file to the response: to `images` if the type begins with `image/`, otherwise to `files`. The model does
   * not get the file.
   *
   * @throws {TypeError} for an address that is neither http(s) nor a data URL of an image, a video or audio
   */
  attachFile(file: ThreadFile): void;
}

/** A tool that a chat runs when the model calls it. {@link defineTool} creates it. */
export interface Tool<Input = unknown, Output = unknown> {
  /** Name of the tool for the model. */
  readonly name: string;
  /**
   * Returns the tool's definition for a request.
   *
   * @throws {ConfigurationError} if `inputSchema` cannot be converted to JSON Schema
   */
  definition(): Promise<ToolDefinition>;
  /** Checks and types the arguments; absent if `inputSchema` is a plain JSON Schema. */
  readonly schema?: StandardSchema<Input>;
  /** Milliseconds after which a running call fails. */
  readonly timeoutMs: number;
  /** Runs the call; absent if the call waits for `addToolOutput`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /** Returns true if the user must approve the call first. Only `false` runs it at once. */
  needsApproval(input: Input): boolean | Promise<boolean>;
}

/** Options of {@link defineTool}. */
export interface ToolOptions<Input, Output> {
  /** Name of the tool: 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** Explanation for the model: what the tool does and when to call it. */
  readonly description?: string;
  /**
   * Schema of the arguments: a valibot schema, another schema with a JSON Schema, or a plain JSON Schema. For a plain
   * one, only the outermost `type` is checked, by default `"object"`. `withJSONSchema` adds a JSON Schema to a schema
   * whose library cannot export one.
   */
  readonly inputSchema: StandardSchema<Input> | Readonly<Record<string, unknown>>;
  /** Runs the call. Without it the call waits for `addToolOutput`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /**
   * True if the user must approve a call first. A function must decide within `timeoutMs`. Only `false` runs a call at
   * once. Any other result, or an error, waits for the user like `true`, with a `warning`.
   *
   * @default false
   */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>);
  /** Milliseconds after which a call fails, including its check. @default 60_000 */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;

/**
 * Defines a tool for a chat. The chat checks the arguments before it runs `execute`. If they are invalid, the model
 * gets an error and the chat continues. `execute` must return a string or a value with a JSON form.
 *
 * @throws {ConfigurationError} for an invalid name, or a schema without a JSON Schema. A valibot schema is converted
 *   with the first request. If it has no JSON Schema (`v.date()`), that turn ends as `not-sent`.
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
  const path = `inputSchema of the tool "${name}"`;
  const schema = isSchema<Input>(inputSchema) ? addJSONSchema(inputSchema, path) : undefined;
  return {
    name,
    async definition() {
      const described = {
        name,
        ...(description !== undefined && { description }),
        parameters: schema ? await writeJSONSchema(schema, path) : { ...inputSchema },
      };
      return { type: "function", function: described };
    },
    ...(schema && { schema }),
    timeoutMs,
    ...(execute && { execute: (input, context) => execute(input, context) }),
    needsApproval: (input) => (typeof needsApproval === "function" ? needsApproval(input) : needsApproval),
  };
}

/** @throws {ConfigurationError} for a schema without a JSON Schema */
function addJSONSchema<Input>(schema: StandardSchema<Input>, path: string): StandardSchema<Input> {
  if (schema["~standard"].vendor !== "valibot") assertWritable(schema, path);
  return withJSONSchema(schema);
}

function isSchema<Input>(schema: object): schema is StandardSchema<Input> {
  return "~standard" in schema;
}
