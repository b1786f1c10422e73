import {
  createClient,
  createVideoTaskList,
  createVideoTaskStore,
  listVideoTasks,
  webStorage,
} from "@sluice/core";
import type { Page } from "../page.ts";

export async function run({ baseURL, signal, write, show }: Page) {
  const client = createClient({ baseURL });
  const options = { storage: webStorage(() => sessionStorage), intervalMs: 1000 };
  const video = createVideoTaskStore(client, options);
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(video.detach()));
    let shown = "";
    video.subscribe(() => {
      const { status, task } = video.getSnapshot();
      const line = `${status}: ${task?.rawStatus ?? "no answer yet"}\n`;
      if (line !== shown) write(line);
      shown = line;
      if (status === "success" || status === "error") resolve();
    });
  });

  const [last] = await listVideoTasks(client, options);
  if (last?.state === "unconfirmed") {
    // the page was left before the answer came: only the reader decides to pay again
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
