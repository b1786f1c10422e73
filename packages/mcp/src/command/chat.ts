import type { ChatRequest } from "@sluice/core";
import { streamOnce } from "../chat-once.js";
import { withFields } from "./arguments.js";
import { json, modelOf, promptOf, type Task } from "./task.js";

/** Writes an answer as it comes. */
export async function chat(task: Task): Promise<void> {
  const { args, client, signal, out, err } = task;
  const model = modelOf("chat", args);
  const system = args.system === undefined ? [] : [{ role: "system", content: args.system }];
  const messages = [...system, { role: "user", content: await promptOf(task) }];
  const request = withFields({ model, messages }, args.set) as unknown as ChatRequest;
  const { message, outcome, usage } = await streamOnce(client, request, { signal }, (delta) => {
    if (delta.type === "text-delta" && !args.json) out.write(delta.text);
  });
  if (args.json) return void out.write(json({ model, text: message.content, outcome, usage }));
  out.write("\n");
  if (outcome !== "complete") err.write(`The answer is not whole: ${outcome}\n`);
}
