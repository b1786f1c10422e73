import { type Clock, openSpan, unlessAborted } from "../../base/clock.js";
import {
  assertWritable,
  checkBySchema,
  issuesText,
  type StandardSchema,
} from "../../base/standard-schema.js";
import { asError, ConfigurationError } from "../../errors.js";
import { parseJSON } from "../../transport/error-response.js";
import type { ToolDefinition } from "../protocol/request-body.js";
import type { ThreadMessage, ThreadToolCall } from "./message.js";

/** Context of a call, given to `execute` beside the input. */
export interface ToolContext {
  /** Aborts when the chat is stopped, and when the tool's time is over. */
  readonly signal: AbortSignal;
  /** Id of the call. */
  readonly toolCallId: string;
  /** The thread up to the call. */
  readonly messages: readonly ThreadMessage[];
}

/** A tool that a chat runs when the model calls it. Created by {@link defineTool}. */
export interface ChatTool<Input = unknown, Output = unknown> {
  /** Name by which the model calls the tool. */
  readonly name: string;
  /**
   * Writes the tool as a request offers it to the model.
   *
   * @throws {ConfigurationError} if the schema of `parameters` cannot be written as JSON Schema
   */
  definition(): Promise<ToolDefinition>;
  /** Checks and types the arguments; absent where `parameters` was plain JSON Schema. */
  readonly schema?: StandardSchema<Input>;
  /** Milliseconds until a call that is still running counts as failed. */
  readonly timeoutMs: number;
  /** Runs the call; absent where the call waits for `addToolResult`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /** True if the user has to approve a call first. */
  needsApproval(input: Input): boolean | Promise<boolean>;
}

/** Options of {@link defineTool}. */
export interface ToolOptions<Input, Output> {
  /** Name of the tool: 1 to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** Explanation for the model: what the tool does and when to call it. */
  readonly description?: string;
  /**
   * Arguments of the tool: a valibot schema, another schema that has a JSON Schema, or a JSON Schema, which
   * is not checked.
   */
  readonly parameters: StandardSchema<Input> | Readonly<Record<string, unknown>>;
  /** Runs the call. Without it the call waits for `addToolResult`. */
  execute?(input: Input, context: ToolContext): Output | Promise<Output>;
  /**
   * True if the user has to approve a call first. A function has to decide within `timeoutMs`.
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
        parameters: schema ? await writtenAsJSON(schema, path) : { ...parameters },
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
async function writtenAsJSON(schema: StandardSchema, path: string): Promise<Record<string, unknown>> {
  const { jsonSchemaOf } = await import("./json-schema.js");
  return jsonSchemaOf(schema, path);
}

/** Context of a call that does not depend on its tool. */
export interface CallContext extends Omit<ToolContext, "toolCallId"> {
  readonly tools: readonly ChatTool[];
  readonly clock: Clock;
}

/** Decides the next state of a call with whole arguments: it runs, waits for the user or the app, or has failed. */
export function admitCall(call: ThreadToolCall, context: CallContext): Promise<ThreadToolCall> {
  return withTool(call, context, async (tool, input, checked) => {
    if (await needsApproval(tool, input)) return { ...checked, state: "needs-approval" };
    return { ...checked, state: tool.execute ? "running" : "needs-result" };
  });
}

async function needsApproval(tool: ChatTool, input: unknown): Promise<boolean> {
  try {
    return await tool.needsApproval(input);
  } catch (cause) {
    throw new Error(`could not find out whether the call needs approval: ${asError(cause).message}`);
  }
}

/** Runs a call to its end, or until `context.signal` aborts. Never rejects: the model gets the error. */
export function runCall(call: ThreadToolCall, context: CallContext): Promise<ThreadToolCall> {
  const { messages } = context;
  return withTool(call, context, async (tool, input, checked, signal) =>
    tool.execute
      ? withOutput(checked, await tool.execute(input, { messages, signal, toolCallId: call.id }))
      : { ...checked, state: "needs-result" },
  );
}

/** Adds the result to a call. A result that is not JSON makes the call fail. */
export function withOutput(call: ThreadToolCall, output: unknown): ThreadToolCall {
  const problem = problemOf(output);
  return problem
    ? failed(call, `the result of the tool does not fit into JSON: ${problem}`)
    : { ...call, state: "done", output };
}

/**
 * Checks the arguments of a call, which another tab may have left, and runs its tool, both within the time limit of the
 * tool.
 */
async function withTool(
  call: ThreadToolCall,
  { tools, clock, signal }: CallContext,
  run: (tool: ChatTool, input: unknown, call: ThreadToolCall, signal: AbortSignal) => Promise<ThreadToolCall>,
): Promise<ThreadToolCall> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    const names = tools.map(({ name }) => name).join(", ");
    return failed(call, `there is no tool "${call.name}"; there ${names ? `are: ${names}` : "are none"}`);
  }
  const { timeoutMs } = tool;
  const span = openSpan(clock, signal, timeoutMs, () => new Error(`no result after ${timeoutMs} ms`));
  let known = call;
  const work = async () => {
    const input = inputOf(call);
    known = { ...call, input };
    const checked = tool.schema ? await checkBySchema(tool.schema, input) : { value: input };
    if (checked.issues) throw new Error(`the arguments do not fit: ${issuesText(checked.issues)}`);
    // a storage needs JSON, and the output of a schema may be any value
    if (!problemOf(checked.value)) known = { ...call, input: checked.value };
    return run(tool, checked.value, known, span.signal);
  };
  try {
    return await unlessAborted(work(), span.signal);
  } catch (cause) {
    return failed(known, asError(cause).message);
  } finally {
    span.end();
  }
}

function inputOf({ arguments: text }: ThreadToolCall): unknown {
  const input = text.trim() === "" ? {} : parseJSON(text);
  const problem = input === undefined ? text.slice(0, 200) : problemOf(input);
  if (problem) throw new Error(`the arguments are no JSON: ${problem}`);
  return input;
}

/** Deepest nesting of a result. A deeper value could overflow the stack as a part of a larger one. */
const MAX_DEPTH = 500;

/** Returns the reason why a value cannot be written as JSON; undefined if it can. */
function problemOf(value: unknown): string | undefined {
  const depths = new Map<unknown, number>();
  try {
    JSON.stringify(value, function (this: unknown, _key, item: unknown) {
      const depth = (depths.get(this) ?? 0) + 1;
      if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} deep`);
      if (typeof item === "object") depths.set(item, depth);
      return item;
    });
  } catch (cause) {
    return asError(cause).message;
  }
  return undefined;
}

function failed(call: ThreadToolCall, error: string): ThreadToolCall {
  return { ...call, state: "failed", error };
}

function isSchema<Input>(parameters: object): parameters is StandardSchema<Input> {
  return "~standard" in parameters;
}
