import { short } from "../harness.ts";
import { openMainThread, openPage } from "../page.ts";
import type { Polled } from "../pages/poller.ts";
import { formatTable, type Report } from "../topic.ts";

export const title = "Watched tasks";

const SECONDS = 20;

export async function measure(): Promise<Report> {
  const columns: Record<string, Record<string, string>> = {};
  for (const tasks of [10, 100, 1000]) {
    let requests = 0;
    const { page, run, close } = await openPage("pages/poller.ts", (_, response) => {
      requests += 1;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "task", status: "running", progress: 0.5 }));
    });
    const mainThread = await openMainThread(page);
    const before = await mainThread.ms();
    const { timers, heldMB, longestTaskMs } = await run<Polled>(tasks, SECONDS);
    columns[`${tasks} tasks`] = {
      "requests in a minute": short((requests * 60) / SECONDS),
      "timers at once": String(timers),
      "main thread, ms in a second": short(((await mainThread.ms()) - before) / SECONDS),
      "longest task, ms": short(longestTaskMs),
      "held, MB": short(heldMB),
    };
    await close();
  }
  return {
    markdown: `One page in Chromium watches video tasks over HTTP for ${SECONDS} s, at the default interval.\n\n${formatTable("watched", columns)}`,
  };
}
