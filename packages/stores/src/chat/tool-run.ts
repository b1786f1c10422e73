import type { Client, ClientEvent, Tool, ToolContext } from "@sluice/core";
import { awaitWithin, describeThrown, parseJSON, toError } from "@sluice/core/extend";
import { type Chat, refresh } from "./chat.js";
import { checkBySchema } from "./check-by-schema.js";
import { type ChatMessage, type ChatToolCall, isFile, type ThreadFile } from "./message.js";

/** Maximum time that `saveState` waits for the storage, in milliseconds. */
const WRITE_MS = 500;

/** Functions with which a running tool changes its message. After the end of the call they change nothing. */
export type CallControls = Pick<ToolContext, "savedState" | "saveState" | "reportProgress" | "attachFile">;

/** Creates the functions for the call at `index` of the message `id`. `signal` aborts when the turn ends. */
export function createCallControls(chat: Chat, signal: AbortSignal, id: string, index: number): CallControls {
  const { client, thread, storage } = chat;
  return {
    savedState: thread.get(id)?.message.toolCalls?.[index]?.savedState,
    async saveState(value) {
      const problem = value === undefined ? "it is undefined" : findJSONProblem(value);
      if (problem) throw new TypeError(`saveState(): the value does not fit into JSON: ${problem}`);
      changeCall({ savedState: value });
      const writing = storage.writeAll();
      if (writing) await awaitWithin(client.clock, WRITE_MS, writing, "the storage").catch(() => {});
    },
    reportProgress(share) {
      changeCall({ progress: Math.min(1, Math.max(0, share)) });
    },
    attachFile(file) {
      if (!isFile(file))
        throw new TypeError("attachFile(): give { type, url }, with an http(s) address or a data URL");
      change((message) => addFile(message, file));
    },
  };

  function changeCall(fields: Partial<ChatToolCall>): void {
    change((message) => ({
      ...message,
      toolCalls: message.toolCalls?.map((call, nth) => (nth === index ? { ...call, ...fields } : call)) ?? [],
    }));
  }

  function change(edit: (message: ChatMessage) => ChatMessage): void {
    const message = thread.get(id)?.message;
    if (signal.aborted || message?.toolCalls?.[index]?.state !== "running") return;
    thread.put(edit(message));
    refresh(chat);
  }
}

/** Adds a file, unless the message has it. A call that runs again may attach its file again. */
function addFile(message: ChatMessage, { type, url }: ThreadFile): ChatMessage {
  const { images = [], files = [] } = message;
  if (type.startsWith("image/"))
    return images.includes(url) ? message : { ...message, images: [...images, url] };
  return files.some((file) => file.url === url) ? message : { ...message, files: [...files, { type, url }] };
}

/** Returns the result of a call, with the saved state of the running call unless the result has an output. */
export function finishCall(result: ChatToolCall, { savedState }: ChatToolCall): ChatToolCall {
  const { savedState: _, progress: _progress, ...rest } = result;
  return result.state === "done" || savedState === undefined ? rest : { ...rest, savedState };
}

/** A run of a tool, in events. */
type ToolRun = Omit<Extract<ClientEvent, { readonly type: "tool-start" }>, "type">;
type ToolEndState = "done" | "failed" | "cancelled";

/** The events of one run of a tool. */
export type ToolReport = ReturnType<typeof createToolReport>;

/** Creates the report of one run. Its events contain neither the arguments nor the output. */
export function createToolReport({ clock, emit }: Pick<Client, "clock" | "emit">, run: ToolRun) {
  let startedAt: number | undefined;
  return {
    start,
    end,
    /** Emits the end of a stopped run; nothing if the run had not begun. */
    cancel() {
      if (startedAt !== undefined) end("cancelled");
    },
  };

  function start(): void {
    startedAt = clock.now();
    emit({ type: "tool-start", ...run });
  }

  /** Emits `tool-end`, after `tool-start` if that is missing. */
  function end(state: ToolEndState, cause?: unknown): void {
    if (startedAt === undefined) start();
    const durationMs = clock.now() - (startedAt ?? 0);
    const error = cause === undefined ? undefined : toError(cause);
    emit({ type: "tool-end", ...run, durationMs, state, ...(error && { error }) });
  }
}

/**
 * Parses the arguments of a call.
 *
 * @throws {Error} for a text that is not JSON
 */
export function parseInput({ arguments: text }: ChatToolCall): unknown {
  const input = text.trim() === "" ? {} : parseJSON(text);
  const problem = input === undefined ? text.slice(0, 200) : findJSONProblem(input);
  if (problem) throw new Error(`the arguments are not JSON: ${problem}`);
  return input;
}

/**
 * Checks arguments by the type and the schema of a tool. Returns the output of the schema.
 *
 * @throws {Error} if they do not fit
 */
export async function checkInput(tool: Tool, input: unknown): Promise<unknown> {
  await assertType(tool, input);
  const checked = tool.schema ? await checkBySchema(tool.schema, input) : { value: input };
  if (checked.problem !== undefined) throw new Error(`the arguments do not fit: ${checked.problem}`);
  return checked.value;
}

/**
 * Checks the type of the arguments by the tool's JSON Schema. Nearly all arguments are objects, so that the schema is
 * read only for other types.
 */
async function assertType(tool: Tool, input: unknown): Promise<void> {
  const found = input === null ? "null" : Array.isArray(input) ? "array" : typeof input;
  if (found === "object") return;
  const { type = "object" } = (await tool.definition()).function.parameters ?? {};
  const types = [type].flat();
  if (types.includes(found) || (Number.isInteger(input) && types.includes("integer"))) return;
  throw new Error(`the arguments do not fit: they are of type ${found}, not ${types.join(" or ")}`);
}

/** Adds the output to a call. The call fails if the output is not JSON. */
export function addOutput(call: ChatToolCall, output: unknown): ChatToolCall {
  const problem = findJSONProblem(output);
  return problem
    ? failCall(call, `the result of the tool does not fit into JSON: ${problem}`)
    : { ...call, state: "done", output };
}

/** Maximum nesting of a result. A deeper value could overflow the stack inside a larger value. */
const MAX_DEPTH = 500;

/** Returns the reason why a value cannot be written as JSON; undefined if it can. */
export function findJSONProblem(value: unknown): string | undefined {
  const depths = new Map<unknown, number>();
  try {
    JSON.stringify(value, function (this: unknown, _key, item: unknown) {
      const depth = (depths.get(this) ?? 0) + 1;
      if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} deep`);
      if (typeof item === "object") depths.set(item, depth);
      return item;
    });
  } catch (cause) {
    return describeThrown(cause);
  }
  return undefined;
}

/** Ends a call with an error, which the model gets. */
export function failCall(call: ChatToolCall, error: string): ChatToolCall {
  return { ...call, state: "failed", error };
}
