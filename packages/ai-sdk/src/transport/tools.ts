import type { JSONValue, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { describeThrown } from "@sluice/core/internal";
import { asSchema, type ModelMessage, type Tool, type ToolSet, type UIMessageChunk } from "ai";

/** A call that the model made. */
export interface ModelCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** The surroundings of a call. */
export interface ToolContext {
  readonly tools: ToolSet;
  readonly messages: ModelMessage[];
  readonly abortSignal: AbortSignal | undefined;
  readonly needsApproval: ((call: ModelCall) => boolean | PromiseLike<boolean>) | undefined;
}

/** Writes tools as a request offers them to the model. */
export function definitionsOf(tools: ToolSet): Promise<LanguageModelV4FunctionTool[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description, inputSchema, strict }]) => ({
      type: "function" as const,
      name,
      inputSchema: await asSchema(inputSchema).jsonSchema,
      // a text that depends on a context is one of `streamText`
      ...(typeof description === "string" && { description }),
      ...(strict !== undefined && { strict }),
    })),
  );
}

/**
 * Checks a call and shows it. Yields nothing more for a call that waits for the app or the user; `run` has the result of
 * one that may run.
 */
export async function admit(
  call: ModelCall & { readonly text: string },
  context: ToolContext,
): Promise<{ readonly chunks: readonly UIMessageChunk[]; readonly run?: () => Promise<UIMessageChunk> }> {
  const { toolCallId, toolName } = call;
  const tool = Object.hasOwn(context.tools, toolName) ? context.tools[toolName] : undefined;
  const dynamic = tool?.type === "dynamic";
  const shown = { toolCallId, toolName, ...(dynamic && { dynamic }) };
  const refused = (errorText: string, input: unknown = call.text) => ({
    chunks: [{ type: "tool-input-error" as const, ...shown, input, errorText }],
  });
  if (!tool)
    return refused(`there is no tool ${toolName}; there are: ${Object.keys(context.tools).join(", ")}`);
  if (call.input === undefined) return refused(`the arguments are no JSON: ${call.text.slice(0, 200)}`);
  const checked = await asSchema(tool.inputSchema).validate?.(call.input);
  if (checked && !checked.success)
    return refused(`the arguments do not fit: ${checked.error.message}`, call.input);
  const input = checked ? checked.value : call.input;
  const available = { type: "tool-input-available" as const, ...shown, input };
  if (await asksUser(tool, { toolCallId, toolName, input }, context))
    return {
      chunks: [
        available,
        { type: "tool-approval-request", approvalId: `approval-${toolCallId}`, toolCallId },
      ],
    };
  if (!tool.execute) return { chunks: [available] };
  return { chunks: [available], run: () => runCall({ toolCallId, toolName, input }, context) };
}

/** Runs a call to its end. The model gets an error of the tool. Never rejects but with the reason of an abort. */
export async function runCall(call: ModelCall, context: ToolContext): Promise<UIMessageChunk> {
  const { tools, messages, abortSignal } = context;
  const { toolCallId, toolName } = call;
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  try {
    if (!tool?.execute) throw new Error(`the tool ${toolName} can't run here`);
    const options = { toolCallId, messages, context: undefined, ...(abortSignal && { abortSignal }) };
    const output = await lastOf(await tool.execute(call.input, options));
    return { type: "tool-output-available", toolCallId, output };
  } catch (cause) {
    abortSignal?.throwIfAborted();
    return {
      type: "tool-output-error",
      toolCallId,
      errorText: describeThrown(cause),
    };
  }
}

/** Returns the output of a tool as JSON. Of several the last one counts. */
async function lastOf(output: unknown): Promise<JSONValue> {
  let last = output;
  if (typeof output === "object" && output !== null && Symbol.asyncIterator in output)
    for await (const one of output as AsyncIterable<unknown>) last = one;
  return JSON.parse(JSON.stringify(last) ?? "null");
}

/** Asks the user also where a function fails: a call that runs by mistake can't be taken back. */
async function asksUser(
  tool: Pick<Tool, "needsApproval">,
  call: ModelCall,
  { messages, needsApproval }: ToolContext,
): Promise<boolean> {
  const own = tool.needsApproval;
  const { toolCallId, input } = call;
  try {
    if (await needsApproval?.(call)) return true;
    return typeof own === "function"
      ? await own(input, { toolCallId, messages, context: undefined })
      : own === true;
  } catch {
    return true;
  }
}
