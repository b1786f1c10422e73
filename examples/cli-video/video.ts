import { readFile, writeFile } from "node:fs/promises";
import { createClient, createVideoTask, type VideoTaskHandle, watchVideoTask } from "@sluice/core";

/*
 * Makes a video. You can kill the script at any time: started again, it continues with the task that it has in
 * `video-task.json`, and pays for no second one.
 */

const FILE = "video-task.json";
const client = createClient({
  baseURL: process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8788",
  apiKey: process.env["GATEWAY_API_KEY"] ?? "sk-test",
});

const handle = (await savedHandle()) ?? (await submit());
for await (const task of watchVideoTask(client, handle)) {
  console.log(task.state, task.progress === undefined ? "" : `${Math.round(task.progress * 100)} %`);
  if (task.state === "succeeded") console.log(task.url);
  if (task.state === "failed") throw new Error(`the task failed: ${task.reason ?? "no reason given"}`);
}

/** The task of an earlier run; undefined where there was none. */
async function savedHandle(): Promise<VideoTaskHandle | undefined> {
  const text = await readFile(FILE, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { handle } = JSON.parse(text) as { handle?: VideoTaskHandle };
  if (handle) return handle;
  throw new Error(
    `an earlier run ended while it submitted: a task may exist, and be billed. Check your account, then delete ${FILE}`,
  );
}

/** Submits the task. Writes the file before the request, so that a killed process leaves a trace of the task. */
async function submit(): Promise<VideoTaskHandle> {
  await writeFile(FILE, JSON.stringify({}));
  const handle = await createVideoTask(client, {
    model: "beta3.0-video",
    input: { prompt: process.argv.slice(2).join(" ") || "A reef at dawn" },
    parameters: { resolution: "720P", duration: 5 },
  });
  await writeFile(FILE, JSON.stringify({ handle }));
  return handle;
}
