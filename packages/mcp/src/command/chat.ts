import { type ChatRequest, streamChat } from "@sluice/core";
import { billOnce } from "@sluice/core/extend";
import { describeShortfall } from "../base/shortfall.js";
import { setFields } from "./arguments.js";
import { formatBar, showProgress } from "./bar.js";
import { chooseModel, formatJSON, PARTIAL_CODE, readPrompt, type Task } from "./task.js";

/** Sends a message, and writes the response while it streams. Returns the exit code. */
export async function runChat(task: Task): Promise<number> {
  const { args, client, signal, out, err } = task;
  const { model, checks } = chooseModel("chat", task);
  const system = args.system === undefined ? [] : [{ role: "system", content: args.system }];
  const messages = [...system, { role: "user", content: await readPrompt(task) }];
  const request = setFields({ model, messages }, args.set) as ChatRequest;
  const stream = streamChat(billOnce(client), request, { signal, checks });
  // a model may think for a minute before its first word
  const progress = args.json
    ? undefined
    : showProgress(err, client.clock, (options) => formatBar(undefined, "Waiting", options));
  const endProgress = () => {
    progress?.end();
    err.clearLine();
  };
  let hasText = false;
  try {
    for await (const delta of stream)
      if (delta.type === "text-delta" && !args.json) {
        endProgress();
        out.write(delta.text);
        hasText = true;
      }
  } finally {
    endProgress();
    if (hasText) out.write("\n");
  }
  const result = await stream.result();
  const { message, outcome, usage, toolCalls } = result;
  const shortfall = describeShortfall(result);
  if (args.json) {
    const calls = toolCalls.length > 0 && { tool_calls: message.tool_calls };
    const error = shortfall !== undefined && { error: { name: outcome, message: shortfall } };
    out.write(formatJSON({ model, text: message.content, outcome, usage, ...calls, ...error }));
  } else {
    if (shortfall !== undefined) err.write(`${shortfall}\n`);
    else if (toolCalls.length > 0) err.write("The model calls tools: --json shows them.\n");
  }
  return shortfall === undefined ? 0 : PARTIAL_CODE;
}
