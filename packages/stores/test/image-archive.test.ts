import { createImageStore } from "@sluice/stores";
import { expect, onTestFinished, test, vi } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";

const DAY_MS = 86_400_000;
const headers = { "x-sluice-features": "archive=2592000000" };
const original = (name: string) => `https://cdn.gateway.test/${name}.png`;
const linkTo = (name: string) => `https://gateway.test/v1/media/${name}`;

/**
 * A store of images in front of a proxy that keeps a copy of each; `status` is that of its archive. A prompt names its
 * images, and `getDays` says how many days the link to a copy works.
 */
function openPage({
  status = (): number => 200,
  waitForCopies = () => Promise.resolve(),
  getDays = (_name: string): number => 1,
} = {}) {
  const day = openPageForADay();
  const bodies: { urls: string[] }[] = [];
  const { client, requests } = createTestClient(
    async (request) => {
      const body = await request.json();
      if (!request.url.endsWith("/v1/archive")) {
        const images = body.prompt.split(" ").map((name: string) => ({ url: original(name) }));
        const data = [...images, { error: { message: "withheld" } }];
        return Response.json({ data }, { headers });
      }
      bodies.push(body);
      await waitForCopies();
      if (status() !== 200) return new Response(null, { status: status() });
      const createCopy = (name: string) => ({
        name,
        id: name,
        url: linkTo(`${/\w+\+*(?=\.png|$)/.exec(name)}+`),
        type: "image/png",
        bytes: 1,
        expiresAt: Date.now() + getDays(name) * DAY_MS,
        storedUntil: Date.now() + 20 * DAY_MS,
      });
      return Response.json({ files: body.urls.map(createCopy) });
    },
    { clock: day.clock, retry: { limit: 0 } },
  );
  const store = createImageStore(client, { model: "gamma-image-5-0-260128" });
  return { store, requests, bodies, day, url: () => store.getSnapshot().data?.images[0]?.url };
}

/** Opens a page with a clock whose long waits end when the test advances it. */
function openPageForADay() {
  const waiting = new Set<() => void>();
  onTestFinished(() => void vi.useRealTimers());
  const clock = {
    now: () => performance.now(),
    sleep(ms: number, signal?: AbortSignal) {
      return new Promise<void>((resolve, reject) => {
        if (ms < 10_000) {
          const timer = setTimeout(resolve, ms);
          onTestFinished(() => clearTimeout(timer));
        } else waiting.add(resolve);
        signal?.addEventListener("abort", () => {
          waiting.delete(resolve);
          reject(signal.reason);
        });
      });
    },
  };
  return {
    clock,
    waits: () => waiting.size,
    pass(ms: number) {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
      for (const wake of [...waiting]) wake();
      waiting.clear();
    },
  };
}

test("a link that expires while its image is shown is renewed by the proxy, again and again", async () => {
  const { store, requests, bodies, day, url } = openPage();
  onTestFinished(store.subscribe(() => {}));
  await store.generate({ prompt: "dawn" });
  expect([url(), day.waits()]).toEqual([original("dawn"), 1]);
  day.pass(DAY_MS + 1000);
  await expect.poll(url).toBe(linkTo("dawn+"));
  expect(store.getSnapshot()).toMatchObject({ status: "success", failedCount: 1 });
  day.pass(DAY_MS + 1000);
  await expect.poll(url).toBe(linkTo("dawn++"));
  expect(bodies.map(({ urls }) => urls)).toEqual([[original("dawn")], [linkTo("dawn+")]]);
  expect(requests).toHaveLength(3);
});

test("a link that still works is not renewed together with expired links", async () => {
  const { store, bodies, day, url } = openPage({ getDays: (name) => (name.includes("dusk") ? 2 : 1) });
  onTestFinished(store.subscribe(() => {}));
  await store.generate({ prompt: "dawn dusk" });
  day.pass(DAY_MS + 1000);
  await expect.poll(url).toBe(linkTo("dawn+"));
  day.pass(DAY_MS + 1000);
  await expect.poll(url).toBe(linkTo("dawn++"));
  expect(bodies.map(({ urls }) => urls)).toEqual([[original("dawn"), original("dusk")], [linkTo("dawn+")]]);
});

test("a link that expired while its image was hidden is renewed when the image is shown", async () => {
  const { store, requests, day, url } = openPage();
  await store.generate({ prompt: "dawn" });
  day.pass(DAY_MS + 1000);
  expect([url(), day.waits(), requests.length]).toEqual([original("dawn"), 0, 1]);
  const leave = store.subscribe(() => {});
  await expect.poll(url).toBe(linkTo("dawn+"));
  expect(day.waits()).toBe(1);
  leave();
  expect(day.waits()).toBe(0);
});

test("a link that could not be renewed stays, and is tried again a minute later", async () => {
  let status = 503;
  const { store, bodies, day, url } = openPage({ status: () => status });
  onTestFinished(store.subscribe(() => {}));
  await store.generate({ prompt: "dawn" });
  day.pass(DAY_MS + 1000);
  const failedAt = Date.now();
  const [image] = store.getSnapshot().data?.images ?? [];
  // `expect.poll` would move the clock at each check
  await new Promise<void>((resolve) => {
    onTestFinished(store.subscribe(() => store.getSnapshot().data?.images[0] !== image && resolve()));
  });
  expect([url(), bodies.length, store.getSnapshot().error]).toEqual([original("dawn"), 1, undefined]);
  expect(store.getSnapshot().data?.images[0]).toMatchObject({ expiresAt: failedAt + 60_000 });
  status = 200;
  day.pass(61_000);
  await expect.poll(url).toBe(linkTo("dawn+"));
});

test("newer images are not replaced by links that arrive late", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { store, bodies, day, url } = openPage({ waitForCopies: () => held });
  onTestFinished(store.subscribe(() => {}));
  await store.generate({ prompt: "dawn" });
  day.pass(DAY_MS + 1000);
  await expect.poll(() => bodies).toHaveLength(1);
  await store.generate({ prompt: "dusk" });
  release();
  // its turn comes after the late response
  day.pass(DAY_MS + 1000);
  await expect.poll(url).toBe(linkTo("dusk+"));
  expect(bodies[1]?.urls).toEqual([original("dusk")]);
});
