import { createVideoTaskList, createVideoTaskStore, memoryStorage } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";

const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" }, parameters: {} } as const;

let pages = 0;

/** Opens a list with a task that the proxy reports once. */
async function openList(features: string, status = "IN_PROGRESS") {
  const { client, requests } = createTestClient(
    ({ method, url }) => {
      if (method === "DELETE") return new Response(null, { status: 204 });
      // an event stream that never begins
      if (url.endsWith("/events")) return new Promise(() => {});
      const data = { task_id: "t-1", status, result_url: "https://cdn.test/v.mp4" };
      const json =
        method === "POST" ? { id: "t-1", task_id: "t-1", status: "queued" } : { code: "success", data };
      return Response.json(json, { headers: { "x-sluice-features": features } });
    },
    // its own gateway, because tabs of one gateway share a poller
    { baseURL: `https://gateway-${++pages}.test` },
  );
  const storage = memoryStorage();
  const store = createVideoTaskStore(client, { storage });
  const leaveStore = store.subscribe(() => {});
  await store.create(request);
  const list = createVideoTaskList(client, { storage });
  const leaveList = list.subscribe(() => {});
  await expect.poll(() => list.getSnapshot()[0]?.task?.rawStatus).toBe(status);
  const leave = () => {
    leaveList();
    leaveStore();
  };
  return {
    requests,
    storage,
    leave,
    remove() {
      list.remove(list.getSnapshot()[0]?.key ?? "");
      leave();
    },
  };
}

const deletions = (requests: readonly Request[]) =>
  requests.filter(({ method }) => method === "DELETE").map(({ url }) => new URL(url).pathname);

test.each(["IN_PROGRESS", "SUCCESS"])(
  "a proxy that watches tasks gets each removed task, and its webhook reports it: %s",
  async (status) => {
    const { requests, remove } = await openList("video-events, video-watch", status);
    remove();
    await expect.poll(() => deletions(requests)).toEqual(["/v1/video/generations/t-1/events"]);
  },
);

test("a page that has only restored the task also tells the proxy about its removal", async () => {
  const { storage, leave } = await openList("video-events, video-watch", "SUCCESS");
  leave();
  const { client, requests } = createTestClient(() => new Response(null, { status: 204 }));
  const list = createVideoTaskList(client, { storage });
  const leaveList = list.subscribe(() => {});
  await expect.poll(() => list.getSnapshot()).toHaveLength(1);
  list.remove(list.getSnapshot()[0]?.key ?? "");
  await expect.poll(() => requests.map(({ method }) => method)).toEqual(["DELETE"]);
  expect(deletions(requests)).toEqual(["/v1/video/generations/t-1/events"]);
  leaveList();
});

test("a removed task causes no request to another gateway", async () => {
  const { requests, remove } = await openList("video-events");
  const before = requests.length;
  remove();
  // a request of the first list would have been sent before the request of this list
  const { requests: later, remove: removeLater } = await openList("video-events, video-watch");
  removeLater();
  await expect.poll(() => deletions(later)).toHaveLength(1);
  expect(requests).toHaveLength(before);
});
