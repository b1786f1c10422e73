import { createClient } from "@sluice/core";
import { createVideoTaskList, createVideoTaskStore, listVideoTasks, webStorage } from "@sluice/stores";

interface RunOptions {
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly write: (text: string) => void;
  readonly show: (video: { type: "video"; url: string; alt: string }) => void;
}

export async function run({ write, show, signal, ...clientOptions }: RunOptions) {
  const client = createClient(clientOptions);
  const options = { storage: webStorage(() => sessionStorage), intervalMs: 1000 };
  const video = createVideoTaskStore(client, options);
  const ended = new Promise<void>((resolve) => {
    signal?.addEventListener("abort", () => resolve(video.detach()));
    let shown = "";
    const unsubscribe = video.subscribe(() => {
      const { status, task } = video.getSnapshot();
      const line = `${status}: ${task?.rawStatus ?? "no response yet"}\n`;
      if (line !== shown) write(line);
      shown = line;
      if (status !== "success" && status !== "error") return;
      unsubscribe();
      resolve();
    });
  });

  const [last] = await listVideoTasks(client, options);
  if (last?.state === "unconfirmed") {
    // the page closed before the response: only the reader decides to pay again
    createVideoTaskList(client, options).remove(last.key);
    throw last.error;
  }
  const isOver = last?.task?.state === "succeeded" || last?.task?.state === "failed";
  if (last?.handle && !isOver) {
    write(`found the task ${last.handle.id} again\n`);
    video.attach(last.handle);
  } else {
    const content = [{ type: "text" as const, text: "A reef at dawn, slow camera" }];
    const { error } = await video.create({ model: "gamma-video-2.0", content, duration: 5 });
    if (error) throw error;
  }
  await ended;
  const { data, error } = video.getSnapshot();
  if (error) throw error;
  if (data) show({ type: "video", url: data.url, alt: "A reef at dawn" });
}

// run as a script: without `sessionStorage`, the task lasts as long as the process
if (import.meta.main) {
  const { GATEWAY_URL: baseURL = "http://127.0.0.1:8788", GATEWAY_API_KEY: apiKey = "sk-test" } = process.env;
  const write = (text: string) => process.stdout.write(text);
  await run({ baseURL, apiKey, write, show: ({ url }) => write(`${url}\n`) });
}
