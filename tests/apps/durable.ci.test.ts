import {
  createClient,
  createVideoTask,
  streamResumption,
  type VideoTask,
  watchVideoTask,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleTemplate, createToken, type Running, startTemplates } from "../support/worker-template.ts";

/*
 * The client on the template's Worker with Durable Objects, in workerd, and the emulator behind it: what each side
 * promises the other, together.
 */

const KEY = "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg";
const PATH = "/v1/video/generations";
const JWT_SECRET = "a-secret-of-the-app-for-its-tests-0123456789";
/** Lead of the gateway's clock over all others. */
let ahead = 0;
const clock = { now: () => Date.now() + ahead, sleep: async () => {} };
const emulator = createEmulator({ apiKeys: [KEY], clock });
let gateway: Served;
let worker: Running;
let token: string;

beforeAll(async () => {
  gateway = await serve(emulator, { port: 0 });
  const given = {
    GATEWAY_URL: gateway.url,
    GATEWAY_API_KEY: KEY,
    PROXY_SECRET: "a-secret-of-the-proxy-for-its-tests-0123456789",
    JWT_SECRET,
  };
  const bundle = await bundleTemplate("wrangler.durable.jsonc");
  [worker] = (await startTemplates(bundle, [{ given }])) as [Running];
  token = await createToken("ada", JWT_SECRET);
}, 60_000);
afterAll(async () => {
  await worker.close();
  await gateway.close();
});

/** Opens a tab, which is a separate client. */
const openTab = () =>
  createClient({
    baseURL: worker.address,
    headers: { authorization: `Bearer ${token}` },
    resume: streamResumption(),
  });

test("a video in two tabs is pushed to both, polled by one object, and found again after a reload", async () => {
  const tab = openTab();
  const content = [{ type: "text" as const, text: "A reef at dawn" }];
  const handle = await createVideoTask(tab, { model: "gamma-video-2.0", content, duration: 5 });
  let bothListen = () => {};
  const listening = new Promise<void>((resolve) => {
    bothListen = resolve;
  });
  let tabs = 0;
  const states = async (options: { signal?: AbortSignal } = {}) => {
    const seen: VideoTask["state"][] = [];
    // without the webhook, the next poll would come in a day
    const watched = watchVideoTask(openTab(), handle, {
      ...options,
      intervalMs: 86_400_000,
      deadlineMs: 86_400_000,
    });
    for await (const { state } of watched) {
      seen.push(state);
      if (seen.length === 1 && ++tabs === 2) bothListen();
    }
    return seen;
  };
  const reload = new AbortController();
  const disconnected = states({ signal: reload.signal }).catch((error: Error) => error.name);
  const stayed = states();
  await listening;
  reload.abort();
  expect(await disconnected).toBe("AbortError");
  const back = states();
  ahead += 10 * 60_000;
  for (const seen of await Promise.all([stayed, back])) expect(seen.at(-1)).toBe("succeeded");

  const polls = emulator.requests.filter(({ method, path }) => method === "GET" && path.startsWith(PATH));
  expect(emulator.requests.filter(({ method, path }) => method === "POST" && path === PATH)).toHaveLength(1);
  // each of the three tabs polls once, and finds that the proxy has events; the object polls immediately, and once or twice later
  expect(polls.length).toBeLessThanOrEqual(6);
}, 60_000);
