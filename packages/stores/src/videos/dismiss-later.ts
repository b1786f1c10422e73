import type { Client } from "@sluice/core";
import { requestOnce } from "@sluice/core/extend";

/* Loaded when a user removes a video that a proxy watches. */

/** Tells the proxy that the user has removed a task. The webhook at the task's end reports it. */
export async function dismissTask(client: Client, id: string): Promise<void> {
  const path = `/v1/video/generations/${encodeURIComponent(id)}/events`;
  // `keepalive`: the request survives the end of the page
  await requestOnce(client, path, { method: "DELETE", keepalive: true }, ({ body }) => body?.cancel());
}
