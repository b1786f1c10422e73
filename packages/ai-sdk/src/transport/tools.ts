import type { JSONValue, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { describeThrown } from "@sluice/core/extend";
import { asSchema, type ModelMessage, type Tool, type ToolSet, type UIMessageChunk } from "ai";

/** A tool call of the model. */
export interface ModelCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** Context of a tool call. */
export interface ToolContext {
  readonly tools: ToolSet;
  readonly messages: ModelMessage[];
  readonly abortSignal: AbortSignal | undefined;
  readonly needsApproval: ((call: ModelCall) => boolean | PromiseLike<boolean>) | undefined;
}

/** Converts tools to the definitions of a request. */
export function toDefinitions(tools: ToolSet): Promise<LanguageModelV4FunctionTool[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description, inputSchema, strict }]) => ({
      type: "function" as const,
      name,
      inputSchema: await asSchema(inputSchema).jsonSchema,
      // only `streamText` supports a description that depends on a context
      ...(typeof description === "string" && { description }),
      ...(strict !== undefined && { strict }),
    })),
  );
}

/**
 * Checks a call and creates its chunks. `run` is absent for a call that waits for the app or the user.
 */
export async function checkCall(
  call: ModelCall & { readonly text: string },
  context: ToolContext,
): Promise<{ readonly chunks: readonly UIMessageChunk[]; readonly run?: () => Promise<UIMessageChunk> }> {
  const { toolCallId, toolName } = call;
  const tool = Object.hasOwn(context.tools, toolName) ? context.tools[toolName] : undefined;
  const dynamic = tool?.type === "dynamic";
  const callFields = { toolCallId, toolName, ...(dynamic && { dynamic }) };
  const refuse = (errorText: string, input: unknown = call.text) => ({
    chunks: [{ type: "tool-input-error" as const, ...callFields, input, errorText }],
  });
  if (!tool)
    return refuse(`there is no tool ${toolName}; there are: ${Object.keys(context.tools).join(", ")}`);
  if (call.input === undefined) return refuse(`the arguments are not JSON: ${call.text.slice(0, 200)}`);
  const checked = await asSchema(tool.inputSchema).validate?.(call.input);
  if (checked && !checked.success)
    return refuse(`the arguments do not fit: ${checked.error.message}`, call.input);
  const input = checked ? checked.value : call.input;
  const available = { type: "tool-input-available" as const, ...callFields, input };
  if (await needsUserApproval(tool, { toolCallId, toolName, input }, context))
    return {
      chunks: [
        available,
        { type: "tool-approval-request", approvalId: `approval-${toolCallId}`, toolCallId },
      ],
    };
  if (!tool.execute) return { chunks: [available] };
  return { chunks: [available], run: () => runCall({ toolCallId, toolName, input }, context) };
}

/** Runs a call. An error of the tool becomes the call's result. Rejects only with the reason of an abort. */
export async function runCall(call: ModelCall, context: ToolContext): Promise<UIMessageChunk> {
  const { tools, messages, abortSignal } = context;
  const { toolCallId, toolName } = call;
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  try {
    if (!tool?.execute) throw new Error(`the tool ${toolName} can't run here`);
    const options = { toolCallId, messages, context: undefined, ...(abortSignal && { abortSignal }) };
    const output = await readOutput(await tool.execute(call.input, options));
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

/** Returns the output of a tool as JSON. Of several outputs, the last one counts. */
async function readOutput(output: unknown): Promise<JSONValue> {
  let last = output;
  if (typeof output === "object" && output !== null && Symbol.asyncIterator in output)
    for await (const next of output as AsyncIterable<unknown>) last = next;
  return JSON.parse(JSON.stringify(last) ?? "null");
}

/**
 * Decides if the user must approve a call. An error counts as true, since a call that ran by mistake can't be undone.
 */
async function needsUserApproval(
  tool: Pick<Tool, "needsApproval">,
  call: ModelCall,
  { messages, needsApproval }: ToolContext,
): Promise<boolean> {
  const ownRule = tool.needsApproval;
  const { toolCallId, input } = call;
  try {
    if (await needsApproval?.(call)) return true;
    return typeof ownRule === "function"
      ? await ownRule(input, { toolCallId, messages, context: undefined })
      : ownRule === true;
  } catch {
    return true;
  }
}
