import { type ChatRequest, streamChat } from "@sluice/core";
import { billedOnce } from "../base/billed-once.js";
import { shortfallOf } from "../base/endings.js";
import { withFields } from "./arguments.js";
import { IN_PART, json, modelOf, promptOf, type Task } from "./task.js";

/** Writes an answer as it comes. */
export async function chat(task: Task): Promise<number> {
  const { args, client, signal, out, err } = task;
  const { model, checks } = modelOf("chat", task);
  const system = args.system === undefined ? [] : [{ role: "system", content: args.system }];
  const messages = [...system, { role: "user", content: await promptOf(task) }];
  const request = withFields({ model, messages }, args.set) as unknown as ChatRequest;
  const stream = streamChat(billedOnce(client), request, { signal, checks });
  for await (const delta of stream) if (delta.type === "text-delta" && !args.json) out.write(delta.text);
  const turn = await stream.result();
  const { message, outcome, usage, toolCalls } = turn;
  const shortfall = shortfallOf(turn);
  if (args.json) {
    const calls = toolCalls.length > 0 && { tool_calls: message.tool_calls };
    const error = shortfall !== undefined && { error: { name: outcome, message: shortfall } };
    out.write(json({ model, text: message.content, outcome, usage, ...calls, ...error }));
  } else {
    out.write("\n");
    if (shortfall !== undefined) err.write(`${shortfall}\n`);
    else if (toolCalls.length > 0) err.write("The model calls tools: --json shows them.\n");
  }
  return shortfall === undefined ? 0 : IN_PART;
}
