import type { Client } from "../client.js";
import { requestOnce } from "../transport/request-once.js";

/** Tells a proxy that watches tasks that the user has removed a task. The webhook at the task's end reports it. */
export async function dismissTask(client: Client, path: string): Promise<void> {
  // `keepalive`: the request survives the end of the page
  await requestOnce(client, path, { method: "DELETE", keepalive: true }, ({ body }) => body?.cancel());
}
