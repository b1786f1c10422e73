import type { ServerResponse } from "node:http";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { host } from "../../../../packages/durable/test/support/workerd.js";
import {
  chunk,
  done,
  finish,
  type Recorded,
} from "../../../../packages/worker-proxy/test/support/upstream.js";
import { begins, openKilledRuns, says, toolCalls } from "./support/killed-runs.js";

/** Alarms come within 30 s, and processes start on a machine that may be busy. */
const LONG = { timeout: 180_000 };

let runs: Awaited<ReturnType<typeof openKilledRuns>>;
let proxy: (typeof runs)["proxy"];

beforeEach(async () => {
  runs = await openKilledRuns();
  ({ proxy } = runs);
});
afterEach(() => proxy.close());

const HEADERS = { "content-type": "text/event-stream" };
const CALLS = toolCalls("charge", "film");

/** Starts it again; the first request about a conversation continues its turn, before the alarm does. */
async function restart(): Promise<void> {
  await proxy.kill();
  await proxy.start();
  await expect.poll(async () => (await runs.thread()).length, runs.patience).toBeGreaterThan(0);
}

/** Ends the object of the conversation, and no other: the kept answer goes on. */
async function lose(): Promise<void> {
  await proxy.ask(`/lose/${encodeURIComponent(`${await hashOf("user-1")}:c-1`)}`, { method: "POST" });
}

describe("case 245: a process that is killed in a turn", () => {
  test("Before the first byte: the gateway is asked once, and the turn ends", LONG, async () => {
    runs.answers(() => {});
    await runs.send();
    await expect.poll(() => runs.chats().length, runs.patience).toBe(1);
    await proxy.kill();
    await proxy.start();
    // by its alarm alone
    await runs.ended();
    expect(runs.chats()).toHaveLength(1);
    expect((await runs.thread()).at(-1)?.error).toBeDefined();
  });

  test(
    "While tools run: one that may have had its effect does not run again, one that has kept a handle does, and the turn goes on",
    LONG,
    async () => {
      const held: ServerResponse[] = [];
      proxy.upstream.answers((response, { url }: Recorded) => {
        if (url.startsWith("/tool/") && held.length < 2) return void held.push(response);
        if (url.startsWith("/tool/")) return void response.end("ok");
        response
          .writeHead(200, HEADERS)
          .end(runs.chats().length === 1 ? CALLS : chunk("Done") + finish + done);
      });
      await runs.send();
      await expect.poll(() => held.length, runs.patience).toBe(2);
      await restart();
      await runs.ended();
      const path = await runs.thread();
      expect(path[1]?.toolCalls).toMatchObject([
        { state: "cancelled", error: expect.stringContaining("restarted") },
        { state: "done", output: "ok" },
      ]);
      expect(path.at(-1)).toMatchObject({ content: "Done", outcome: "complete" });
      expect([runs.chats().length, runs.toolRuns("charge").length, runs.toolRuns("film").length]).toEqual([
        2, 1, 2,
      ]);
      expect(runs.toolRuns("film").at(-1)?.body).toBe('{"task":"t-1"}');
      expect(runs.ends()).toMatchObject([
        { kind: "sync:run", id: "q-1", user: "user-1", outcome: "complete" },
      ]);
    },
  );

  test("In the second step: the first one stays, and its tools do not run again", LONG, async () => {
    runs.answers((response) => response.end(CALLS), begins("Half"));
    await runs.send();
    await runs.last({ content: "Half" });
    await restart();
    await runs.ended();
    const path = await runs.thread();
    expect(path[1]?.toolCalls).toMatchObject([{ state: "done" }, { state: "done" }]);
    expect(path.at(-1)).toMatchObject({ content: "Half", error: { message: expect.any(String) } });
    expect([runs.chats().length, runs.toolRuns("charge").length]).toEqual([2, 1]);
  });
});

describe.runIf(host === "workerd")("case 245: an object that is lost in a turn", () => {
  test("The kept answer is read on to its end: the gateway is asked once", LONG, async () => {
    let rest: ServerResponse | undefined;
    runs.answers((response) => {
      rest = response;
      response.write(chunk("One"));
    });
    await runs.send();
    await runs.last({ content: "One" });
    await lose();
    await runs.thread();
    rest?.end(chunk(" two") + finish + done);
    await runs.ended();
    expect(await runs.thread()).toMatchObject([
      { content: "Hi" },
      { content: "One two", outcome: "complete" },
    ]);
    expect(runs.chats()).toHaveLength(1);
  });

  test(
    "Lost twice, wherever the turn is: each step is asked for once, and the turn ends whole",
    LONG,
    async () => {
      runs.answers((response) => response.end(CALLS), says("Done"));
      await runs.send();
      for (let losses = 0; losses < 2; losses += 1) {
        await lose();
        // the next request continues it
        await runs.thread();
      }
      await runs.ended();
      const path = await runs.thread();
      expect(path.at(-1)).toMatchObject({ content: "Done", outcome: "complete" });
      expect(runs.chats()).toHaveLength(2);
      expect(runs.toolRuns("charge").length).toBeLessThanOrEqual(1);
    },
  );
});
