import { generateImages, streamChat } from "@sluice/core";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  frame,
  openBody,
  question,
  settled,
  streamResponse,
} from "./support/gateway.js";
import { streamText } from "./support/reply-streams.js";

/** Creates a page that was frozen. When it continues, the due timers run first, and then the response arrives. */
function createFrozenPage(respond: () => Response) {
  let now = 0;
  const timers: { readonly at: number; readonly wake: () => void }[] = [];
  let arrive = () => {};
  const { client, requests } = createTestClient(
    () =>
      new Promise<Response>((resolve) => {
        arrive = () => resolve(respond());
      }),
    {
      clock: {
        now: () => now,
        sleep: (ms, signal) =>
          new Promise((wake, reject) => {
            timers.push({ at: now + ms, wake });
            signal?.addEventListener("abort", () => reject(signal.reason));
          }),
      },
      timeout: { firstChunkMs: 60_000 },
      retry: { limit: 0 },
    },
  );
  return { client, requests, goOnAfter: continueAfter };

  async function continueAfter(ms: number): Promise<void> {
    await settled();
    now += ms;
    await wakeDue();
    arrive();
    await settled();
    await wakeDue();
  }

  async function wakeDue(): Promise<void> {
    for (const timer of timers.splice(0))
      if (timer.at <= now) timer.wake();
      else timers.push(timer);
    // what waits for a timer runs in the same task
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}

test("A rejection that came while the page was frozen is a rejection, not a timeout", async () => {
  const page = createFrozenPage(() =>
    Response.json({ error: { message: "no credit", code: "x" } }, { status: 402 }),
  );
  const result = generateImages(page.client, { model: "gamma-image-5-0-260128", prompt: "a bird" });
  const failure = result.catch((error: unknown) => error);
  await page.goOnAfter(7_200_000);
  expect(await failure).toMatchObject({ status: 402, billing: "none" });
  expect(page.requests).toHaveLength(1);
});

test("A response that came while the page was frozen is read", async () => {
  const page = createFrozenPage(() => streamResponse(streamText("Hello")));
  const stream = streamChat(page.client, {
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: "Hi" }],
  });
  const result = stream.result();
  result.catch(() => {});
  await page.goOnAfter(7_200_000);
  expect((await result).message.content).toBe("Hello");
});

test("A stream keeps its time limits when the date of the device is set", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const connection = openBody();
  const { client } = createTestClient(() => streamResponse(connection.body), { timeout: { chunkMs: 1000 } });
  const failure = catchError(streamChat(client, question).result());
  for (const hours of [1, -2, 3]) {
    connection.send(frame({ content: "Hi" }));
    await connection.wanted();
    vi.setSystemTime(Date.now() + hours * 3_600_000);
    await vi.advanceTimersByTimeAsync(900);
    expect(connection.cancelled).toBe(false);
  }
  await vi.advanceTimersByTimeAsync(100);
  expect(await failure).toMatchObject({
    name: "TimeoutError",
    phase: "chunk",
    partial: { content: "HiHiHi" },
  });
});
