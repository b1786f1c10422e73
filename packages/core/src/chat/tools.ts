import { type Clock, openSpan, unlessAborted } from "../clock.js";
import { parseJSON } from "../error-body.js";
import { asError, ConfigurationError } from "../errors.js";
import { checkBySchema, issuesText, type StandardSchema } from "../standard-schema.js";
import { assertWritable, jsonSchemaOf } from "./json-schema.js";
import type { ThreadMessage, ThreadToolCall } from "./message.js";
import type { ToolDefinition } from "./schema.js";

/** What a tool is told beside its input. */
export interface ToolContext {
  /** Aborts when the chat is stopped, and when the tool's time is over. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** The thread up to the call. */
  readonly messages: readonly ThreadMessage[];
}

/** A tool that a chat runs when the model calls it. Made by {@link defineTool}. */
export interface ChatTool<Input = unknown, Output = unknown> {
  readonly name: string;
  /**
   * Writes the tool as a request offers it to the model.
   *
   * @throws {ConfigurationError} if the schema of `parameters` cannot be written as JSON Schema
   */
  definition(): Promise<ToolDefinition>;
  /** Checks and types the arguments; absent where `parameters` was plain JSON Schema. */
  readonly schema?: StandardSchema<Input>;
  readonly timeoutMs: number;
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  needsApproval(input: Input): boolean | Promise<boolean>;
}

/** What {@link defineTool} takes. */
export interface ToolOptions<Input, Output> {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** When and for what the model should call it. */
  readonly description?: string;
  /** The arguments: a valibot schema (or another that knows its JSON Schema), or a JSON Schema, then unchecked. */
  readonly parameters: StandardSchema<Input> | Readonly<Record<string, unknown>>;
  /** Runs the call. Without it the call waits for `addToolResult`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /** Whether a person has to approve the call first. @default false */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>);
  /** Milliseconds until a call that is still running counts as failed. @default 60_000 */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;

/**
 * Defines a tool for a chat. Its arguments are checked before `execute` sees them; a model that gets them wrong is
 * told so, and the chat goes on. What `execute` gives must be a string or fit into JSON.
 *
 * @throws {ConfigurationError} for a name that is none, or a schema that does not know its JSON Schema. A valibot
 *   schema is written when a request needs it: one that has no JSON Schema (`v.date()`) ends that turn as `not-sent`.
 * @example
 * ```ts
 * const weather = defineTool({
 *   name: "weather",
 *   description: "The weather of a city, now",
 *   parameters: v.object({ city: v.string() }),
 *   execute: async ({ city }, { signal }) => (await fetch(`/weather/${city}`, { signal })).json(),
 * });
 * const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: [weather] });
 * ```
 */
export function defineTool<Input, Output>(options: ToolOptions<Input, Output>): ChatTool<Input, Output> {
  const { name, description, parameters, execute, needsApproval = false, timeoutMs = TIMEOUT_MS } = options;
  if (!/^[\w-]{1,64}$/.test(name))
    throw new ConfigurationError(`name: a tool's name has 1 to 64 letters, digits, _ and -, not "${name}"`);
  const schema = isSchema<Input>(parameters) ? parameters : undefined;
  const path = `parameters of the tool "${name}"`;
  if (schema) assertWritable(schema, path);
  return {
    name,
    async definition() {
      const described = {
        name,
        ...(description !== undefined && { description }),
        parameters: schema ? await jsonSchemaOf(schema, path) : { ...parameters },
      };
      return { type: "function", function: described };
    },
    ...(schema && { schema }),
    timeoutMs,
    ...(execute && { execute: (input, context) => execute(input, context) }),
    needsApproval: (input) => (typeof needsApproval === "function" ? needsApproval(input) : needsApproval),
  };
}

/** What becomes of a call as soon as its arguments are whole: it runs, waits for somebody, or has failed already. */
export async function admitCall(call: ThreadToolCall, tools: readonly ChatTool[]): Promise<ThreadToolCall> {
  const checked = await checkedCall(call, tools);
  if ("failed" in checked) return checked.failed;
  const { tool, input } = checked;
  try {
    if (await tool.needsApproval(input)) return { ...call, input, state: "needs-approval" };
  } catch (cause) {
    return failed(call, `whether the call needs approval could not be told: ${asError(cause).message}`);
  }
  return { ...call, input, state: tool.execute ? "running" : "needs-result" };
}

/** Runs a call to its end, or until `context.signal` aborts. Never rejects: what went wrong is told to the model. */
export async function runCall(
  call: ThreadToolCall,
  tools: readonly ChatTool[],
  { clock, ...context }: Omit<ToolContext, "toolCallId"> & { clock: Clock },
): Promise<ThreadToolCall> {
  // checked again: between the call and its approval there may have been a reload
  const checked = await checkedCall(call, tools);
  if ("failed" in checked) return checked.failed;
  const { tool, input } = checked;
  if (!tool.execute) return { ...call, input, state: "needs-result" };
  const span = openSpan(
    clock,
    context.signal,
    tool.timeoutMs,
    () => new Error(`no result after ${tool.timeoutMs} ms`),
  );
  try {
    const { signal } = span;
    const execution = Promise.resolve(tool.execute(input, { ...context, signal, toolCallId: call.id }));
    return withOutput({ ...call, input }, await unlessAborted(execution, signal));
  } catch (cause) {
    return failed({ ...call, input }, asError(cause).message);
  } finally {
    span.end();
  }
}

/** The call with its result; failed if that is nothing that can be told to a model. */
export function withOutput(call: ThreadToolCall, output: unknown): ThreadToolCall {
  try {
    JSON.stringify(output);
  } catch (cause) {
    return failed(call, `the tool gave what does not fit into JSON: ${asError(cause).message}`);
  }
  return { ...call, state: "done", output };
}

async function checkedCall(call: ThreadToolCall, tools: readonly ChatTool[]) {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    const names = tools.map(({ name }) => name).join(", ");
    return {
      failed: failed(call, `there is no tool "${call.name}"; there ${names ? `are: ${names}` : "are none"}`),
    };
  }
  const input = call.arguments.trim() === "" ? {} : parseJSON(call.arguments);
  if (input === undefined)
    return { failed: failed(call, `the arguments are no JSON: ${call.arguments.slice(0, 200)}`) };
  if (!tool.schema) return { tool, input };
  const checked = await checkBySchema(tool.schema, input);
  if (!checked.issues) return { tool, input: checked.value };
  return { failed: failed({ ...call, input }, `the arguments do not fit: ${issuesText(checked.issues)}`) };
}

function failed(call: ThreadToolCall, error: string): ThreadToolCall {
  return { ...call, state: "failed", error };
}

function isSchema<Input>(parameters: object): parameters is StandardSchema<Input> {
  return "~standard" in parameters;
}
