import { type VideoTask, watchAsset, watchVideoTask } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { createTestClient, openBody, stoppedClock } from "./support/gateway.js";

const respond = (status: string, fields: object = {}) =>
  Response.json({ code: "success", data: { task_id: "t-1", status, ...fields } });
const success = () => respond("SUCCESS", { result_url: "https://files.test/video.mp4" });

/** A client whose responses come in turn; the last one again and again. */
function createRespondingClient(responses: readonly (() => Response)[]) {
  const clock = stoppedClock();
  const made = createTestClient(
    (_, nth) => (responses[Math.min(nth, responses.length) - 1] as () => Response)(),
    {
      clock,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    },
  );
  return { clock, ...made };
}

describe("A paused loop over a task", () => {
  test("does not hold up another watch of the same task, and gets its last snapshot later", async () => {
    const { client, clock } = createRespondingClient([() => respond("IN_PROGRESS"), success]);
    const tasks = watchVideoTask(client, "t-1")[Symbol.asyncIterator]();
    expect((await tasks.next()).value).toMatchObject({ state: "running" });
    const whole = await clock.advanceUntil(watchVideoTask(client, "t-1").result(), 1000);
    expect(whole).toMatchObject({ state: "succeeded" });
    expect((await clock.advanceUntil(tasks.next(), 1000)).value).toMatchObject({ state: "succeeded" });
    expect((await tasks.next()).done).toBe(true);
  });

  test("A paused loop can await the watch of an asset", async () => {
    const { client, clock } = createRespondingClient([
      () => Response.json({ Status: "Processing" }),
      () => Response.json({ Status: "Active" }),
    ]);
    const assets = watchAsset(client, "a-1")[Symbol.asyncIterator]();
    expect((await assets.next()).value).toMatchObject({ state: "pending" });
    const whole = await clock.advanceUntil(watchAsset(client, "a-1").result(), 500);
    expect(whole).toMatchObject({ state: "active" });
    expect((await clock.advanceUntil(assets.next(), 500)).value).toMatchObject({ state: "active" });
    expect((await assets.next()).done).toBe(true);
    expect(clock.sleeping()).toBe(0);
  });

  test("A paused loop does not poll, and an abandoned loop holds nothing after its deadline", async () => {
    const { client, clock, requests } = createRespondingClient([() => respond("IN_PROGRESS")]);
    await watchVideoTask(client, "t-1")[Symbol.asyncIterator]().next();
    await clock.advance(1_800_000);
    expect([requests.length, clock.sleeping()]).toEqual([1, 0]);
  });

  test("A paused loop loses the connection of pushed events after a minute, and polls when it continues", async () => {
    const events = openBody();
    const clock = stoppedClock();
    let polls = 0;
    const { client } = createTestClient(
      ({ url }) => {
        if (url.endsWith("/events"))
          return new Response(events.body, { headers: { "content-type": "text/event-stream" } });
        polls += 1;
        const response = polls > 1 ? success() : respond("QUEUED");
        response.headers.set("x-sluice-features", "video-events");
        return response;
      },
      { clock },
    );
    const tasks = watchVideoTask(client, "t-1")[Symbol.asyncIterator]();
    await tasks.next();
    events.send(
      `event: task\ndata: ${JSON.stringify({ code: "success", data: { status: "IN_PROGRESS" } })}\n\n`,
    );
    expect((await tasks.next()).value).toMatchObject({ state: "running" });
    await clock.advance(60_000);
    expect(events.cancelled).toBe(true);
    expect((await clock.advanceUntil(tasks.next(), 1000)).value).toMatchObject({ state: "succeeded" });
  });
});

test("The state of a task never goes back after older responses", async () => {
  const { client, clock } = createRespondingClient([
    () => respond("QUEUED"),
    () => respond("IN_PROGRESS", { progress: "50%" }),
    () => respond("QUEUED"),
    () => respond("IN_PROGRESS", { progress: "30%" }),
    () => respond("SUCCESS"),
    () => respond("IN_PROGRESS"),
    success,
  ]);
  const seen: VideoTask["state"][] = [];
  const all = async () => {
    for await (const { state } of watchVideoTask(client, "t-1")) seen.push(state);
  };
  await clock.advanceUntil(all(), 5000);
  expect(seen).toEqual(["queued", "running", "result-pending", "succeeded"]);
});
