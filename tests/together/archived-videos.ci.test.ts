import { createClient, getVideoTask } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { getArchivedMedia } from "@sluice/media";
import { createVideoTaskList, createVideoTaskStore, memoryStorage } from "@sluice/stores";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startFilesInWorkerd } from "../../packages/durable/test/support/files-in-workerd.js";
import { KEY } from "../../packages/worker-proxy/test/support/key.js";

/* A video's whole way: from the emulator through a real workerd into miniflare's R2, and days later to a page. */

const DAY_MS = 86_400_000;
let aheadMs = 0;
const started = Date.now();
const clock = {
  now: () => started + aheadMs,
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
};
const emulator = createEmulator({ apiKeys: [KEY], clock, speed: Number.POSITIVE_INFINITY });
let gateway: Awaited<ReturnType<typeof serve>>;
let proxy: Awaited<ReturnType<typeof startFilesInWorkerd>>;

beforeAll(async () => {
  gateway = await serve(emulator, { port: 0 });
  proxy = await startFilesInWorkerd({ gateway: gateway.url });
});
afterAll(async () => {
  vi.useRealTimers();
  await proxy.close();
  await gateway.close();
});

/** Moves the day of the page, the proxy and the gateway. */
async function pass(ms: number): Promise<void> {
  aheadMs += ms;
  vi.useFakeTimers({ toFake: ["Date"], now: started + aheadMs });
  await proxy.pass(ms);
}

/** A page of `user-1` that was just loaded. */
const openPage = () => createClient({ baseURL: proxy.url.origin, headers: { authorization: "user-1" } });
const fetchSize = async (url: string) => (await (await fetch(url)).arrayBuffer()).byteLength;
/** Reads the status of a response. Its body is not read, and would keep the connection open. */
async function fetchStatus(url: string): Promise<number> {
  const { status, body } = await fetch(url);
  await body?.cancel();
  return status;
}
const countRequests = (like: RegExp) => emulator.requests.filter(({ path }) => like.test(path)).length;

test("a video is copied once, outlives the gateway's link, and its own link is renewed by the proxy alone", async () => {
  const storage = memoryStorage();
  const first = openPage();
  const store = createVideoTaskStore(first, { storage, intervalMs: 10 });
  const stop = store.subscribe(() => {});
  const { handle, error } = await store.create({
    model: "beta3.0-video",
    input: { prompt: "A reef at dawn" },
  });
  expect(error).toBeUndefined();
  const id = handle?.id ?? "";
  await expect.poll(() => store.getSnapshot().status).toBe("success");
  const { url: temporary = "", storedUntil = 0 } = store.getSnapshot().data ?? {};
  expect(new URL(temporary).origin).toBe(gateway.url);
  expect(storedUntil).toBeGreaterThan(Date.now() + 29 * DAY_MS);
  // three tabs that know of no leader
  await Promise.all([1, 2, 3].map(() => getVideoTask(openPage(), id)));
  await expect.poll(async () => (await getArchivedMedia(first, { tasks: [id] })).size).toBe(1);
  expect(countRequests(/^\/files\//)).toBe(1);
  const bytes = await fetchSize(temporary);
  stop();

  await pass(25 * 3_600_000);
  expect(await fetchStatus(temporary)).toBe(403);
  const requestCount = emulator.requests.length;
  const archived = await shownTo(openPage());
  expect(new URL(archived).origin).toBe(proxy.url.origin);
  expect(await fetchSize(archived)).toBe(bytes);

  await pass(2 * DAY_MS);
  expect(await fetchStatus(archived)).toBe(404);
  const renewed = await shownTo(openPage());
  expect(renewed).not.toBe(archived);
  expect(await fetchSize(renewed)).toBe(bytes);
  expect(emulator.requests.length).toBe(requestCount);

  /** The link that the list and the task's own store show in a page, where both have ended the same way. */
  async function shownTo(client: ReturnType<typeof openPage>): Promise<string> {
    const list = createVideoTaskList(client, { storage });
    const task = createVideoTaskStore(client, { storage });
    const leave = [list.subscribe(() => {}), task.subscribe(() => {})];
    onTestFinished(() => leave.forEach((end) => void end()));
    const before = list.getSnapshot;
    await expect.poll(() => before().length).toBe(1);
    task.attach(id);
    const findTask = () => {
      const [entry] = list.getSnapshot();
      return entry?.task?.state === "succeeded" ? entry.task : undefined;
    };
    await expect.poll(() => findTask()?.expiresAt).toBeGreaterThan(Date.now());
    await expect.poll(() => task.getSnapshot().data?.url).toBe(findTask()?.url);
    return findTask()?.url ?? "";
  }
});
