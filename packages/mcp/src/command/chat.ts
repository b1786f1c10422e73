import { type ChatRequest, streamChat } from "@sluice/core";
import { withFields } from "./arguments.js";
import { json, modelOf, promptOf, type Task } from "./task.js";

/** Writes an answer as it comes. */
export async function chat(task: Task): Promise<void> {
  const { args, client, signal, out, err } = task;
  const model = modelOf("chat", args);
  const system = args.system === undefined ? [] : [{ role: "system", content: args.system }];
  const messages = [...system, { role: "user", content: await promptOf(task) }];
  const request = withFields({ model, messages }, args.set) as unknown as ChatRequest;
  const stream = streamChat(client, request, { signal });
  for await (const delta of stream) if (delta.type === "text-delta" && !args.json) out.write(delta.text);
  const { message, outcome, usage } = await stream.result();
  if (args.json) return void out.write(json({ model, text: message.content, outcome, usage }));
  out.write("\n");
  if (outcome !== "complete") err.write(`The answer is not whole: ${outcome}\n`);
}
