import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  chunk,
  done,
  finish,
  type Recorded,
} from "../../../../packages/worker-proxy/test/support/upstream.js";
import { openKilledRuns, says, toolCalls } from "./support/killed-runs.js";

/** A lease ends after seconds, alarms come within 30 s, and processes start on a machine that may be busy. */
const LONG = { timeout: 180_000 };

let runs: Awaited<ReturnType<typeof openKilledRuns>>;
/** The process that goes on once the owner of the conversation is killed. */
let other = "";

beforeEach(async () => {
  runs = await openKilledRuns();
  other = await runs.proxy.startAnother();
});
afterEach(() => runs.proxy.close());

/** Kills the owner, and asks the other process, which takes the conversation over. */
async function killOwner(): Promise<void> {
  await runs.proxy.kill();
  runs.askAt(other);
}

describe("case 258: the process that has a conversation is killed, and another one is there", () => {
  test(
    "While an answer comes: the other ends the turn, nothing is asked for again, and the text stays",
    LONG,
    async () => {
      runs.answers((response) => response.write(chunk("One")));
      expect((await runs.send()).status).toBe(202);
      await runs.last({ content: "One" });
      await killOwner();
      await runs.ended();
      expect(await runs.thread()).toMatchObject([
        { content: "Hi" },
        { content: "One", error: { message: expect.stringContaining("may be billed") } },
      ]);
      expect((await runs.send()).status).toBe(202);
      expect(runs.chats()).toHaveLength(1);
    },
  );

  test(
    "While tools run: one may have had its effect and does not run again, one has kept a handle and does, and each step has one bill",
    LONG,
    async () => {
      const held: ServerResponse[] = [];
      runs.proxy.upstream.answers((response, { url }: Recorded) => {
        if (url.startsWith("/tool/") && held.length < 2) return void held.push(response);
        if (url.startsWith("/tool/")) return void response.end("ok");
        const first = runs.chats().length === 1;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(first ? toolCalls("charge", "film") : chunk("Done") + finish + done);
      });
      await runs.send();
      await expect.poll(() => held.length, runs.patience).toBe(2);
      await killOwner();
      await runs.ended();
      const path = await runs.thread();
      expect(path[1]?.toolCalls).toMatchObject([{ state: "cancelled" }, { state: "done", output: "ok" }]);
      expect(path.at(-1)).toMatchObject({ content: "Done", outcome: "complete" });
      expect([runs.chats().length, runs.toolRuns("charge").length, runs.toolRuns("film").length]).toEqual([
        2, 1, 2,
      ]);
    },
  );

  test(
    "While it waits for an approval: the other one has it, goes on with it, and asks for one more answer",
    LONG,
    async () => {
      runs.answers((response) => response.end(toolCalls("pay")), says("Paid"));
      await runs.send();
      await runs.last({ toolCalls: [{ state: "needs-approval" }] });
      await killOwner();
      await runs.last({ toolCalls: [{ state: "needs-approval" }] });
      const { id = "" } = (await runs.thread()).at(-1) ?? {};
      const changes = { [`/reaction/${id}/call-0`]: { value: { approved: true }, seen: 0 } };
      const answers = await Promise.all([0, 1].map(() => runs.write(changes)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      await runs.ended();
      expect((await runs.thread()).at(-1)).toMatchObject({ content: "Paid", outcome: "complete" });
      expect([runs.chats().length, runs.toolRuns("pay").length]).toEqual([2, 1]);
    },
  );
});
