/** @module-tag long */
import type { ServerResponse } from "node:http";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chunk, done, finish, type Recorded } from "../../worker-proxy/test/support/upstream.js";
import { host, startDurableProxy } from "./support/workerd.js";

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
/** Requests for answers, and of tools, that reached the upstream. */
const chats = () => proxy.upstream.requests.filter(({ url }) => url.endsWith("/chat/completions"));
const toolRuns = (name: string) => proxy.upstream.requests.filter(({ url }) => url === `/tool/${name}`);

beforeEach(async () => {
  const objects = { STREAM_LOG: "StreamLog", RUN_CONVERSATIONS: "RunConversations" };
  proxy = await startDurableProxy({ fixture: "durable/test/fixture/run-proxy.ts", objects });
});
afterEach(() => proxy.close());

const PATIENCE = { timeout: 55_000, interval: 200 };
const HEADERS = { "content-type": "text/event-stream" };
const CALLS = `data: ${JSON.stringify({
  choices: [
    {
      delta: {
        tool_calls: ["charge", "film"].map((name, index) => ({
          index,
          id: `call-${index}`,
          type: "function",
          function: { name, arguments: "{}" },
        })),
      },
    },
  ],
})}\n\ndata: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n${done}`;

interface Message {
  readonly createdAt?: number;
  readonly role: string;
  readonly content: string;
  readonly outcome?: string;
  readonly error?: { readonly message: string };
  readonly toolCalls?: readonly {
    readonly state: string;
    readonly error?: string;
    readonly output?: unknown;
  }[];
}

/** The messages from the first to the newest one, by their parents. */
async function thread(): Promise<Message[]> {
  const answer = await proxy.ask("/v1/conversations/c-1/records");
  const { records } = (await answer.json()) as {
    records: Record<string, { value: { message?: Message & { id: string }; parent: string | null } }>;
  };
  const ageOf = ({ message }: { readonly message?: Message }) => message?.createdAt ?? 0;
  const all = Object.values(records).map(({ value }) => value);
  all.sort((one, other) => ageOf(one) - ageOf(other));
  const path: Message[] = [];
  for (let at: string | null = null; ; ) {
    const next = all.filter(({ message, parent }) => message && parent === at).at(-1)?.message;
    if (!next) return path;
    path.push(next);
    at = next.id;
  }
}

const send = () =>
  proxy.ask("/v1/conversations/c-1/turns", {
    method: "POST",
    body: JSON.stringify({ device: "phone", message: { id: "q-1", content: "Hi" }, parent: null }),
  });
const ends = () =>
  proxy.logs.flatMap((line) => (line.includes("run {") ? [JSON.parse(line.slice(line.indexOf("{")))] : []));
const ended = () => expect.poll(() => ends().length, PATIENCE).toBe(1);
const last = (seen: object) => expect.poll(async () => (await thread()).at(-1), PATIENCE).toMatchObject(seen);

/** Starts it again; the first request about a conversation continues its turn, before the alarm does. */
async function restart(): Promise<void> {
  await proxy.kill();
  await proxy.start();
  await expect.poll(async () => (await thread()).length, PATIENCE).toBeGreaterThan(0);
}

/** Ends the object of the conversation, and no other: the kept answer goes on. */
async function lose(): Promise<void> {
  await proxy.ask(`/lose/${encodeURIComponent(`${await hashOf("user-1")}:c-1`)}`, { method: "POST" });
}

/** Answers chats by their number, and tools at once; what is undefined is left open. */
function answers(...all: readonly ((response: ServerResponse) => unknown)[]): void {
  proxy.upstream.answers((response, { url }: Recorded) => {
    if (url.startsWith("/tool/")) return void response.end("ok");
    all[Math.min(chats().length, all.length) - 1]?.(response.writeHead(200, HEADERS));
  });
}
const says = (text: string) => (response: ServerResponse) => response.end(chunk(text) + finish + done);
const begins = (text: string) => (response: ServerResponse) => response.write(chunk(text));

describe("case 245: a process that is killed in a turn", () => {
  test("While an answer comes: it is not asked for again, the text stays, and the message says that it may be billed", async () => {
    answers(begins("One"));
    expect((await send()).status).toBe(202);
    await last({ content: "One" });
    await restart();
    await ended();
    const path = await thread();
    expect(path.at(-1)).toMatchObject({ content: "One", error: { message: expect.any(String) } });
    expect(path).toHaveLength(2);
    expect(chats()).toHaveLength(1);
    expect((await send()).status).toBe(202);
    expect(chats()).toHaveLength(1);
  });

  test("Before the first byte: the gateway is asked once, and the turn ends", async () => {
    answers(() => {});
    await send();
    await expect.poll(() => chats().length, PATIENCE).toBe(1);
    await proxy.kill();
    await proxy.start();
    // by its alarm alone
    await ended();
    expect(chats()).toHaveLength(1);
    expect((await thread()).at(-1)?.error).toBeDefined();
  });

  test("While tools run: one that may have had its effect does not run again, one that has kept a handle does, and the turn goes on", async () => {
    const held: ServerResponse[] = [];
    proxy.upstream.answers((response, { url }: Recorded) => {
      if (url.startsWith("/tool/") && held.length < 2) return void held.push(response);
      if (url.startsWith("/tool/")) return void response.end("ok");
      response.writeHead(200, HEADERS).end(chats().length === 1 ? CALLS : chunk("Done") + finish + done);
    });
    await send();
    await expect.poll(() => held.length, PATIENCE).toBe(2);
    await restart();
    await ended();
    const path = await thread();
    expect(path[1]?.toolCalls).toMatchObject([
      { state: "cancelled", error: expect.stringContaining("restarted") },
      { state: "done", output: "ok" },
    ]);
    expect(path.at(-1)).toMatchObject({ content: "Done", outcome: "complete" });
    expect([chats().length, toolRuns("charge").length, toolRuns("film").length]).toEqual([2, 1, 2]);
    expect(toolRuns("film").at(-1)?.body).toBe('{"task":"t-1"}');
    expect(ends()).toMatchObject([{ kind: "run", id: "q-1", user: "user-1", outcome: "complete" }]);
  });

  test("In the second step: the first one stays, and its tools do not run again", async () => {
    answers((response) => response.end(CALLS), begins("Half"));
    await send();
    await last({ content: "Half" });
    await restart();
    await ended();
    const path = await thread();
    expect(path[1]?.toolCalls).toMatchObject([{ state: "done" }, { state: "done" }]);
    expect(path.at(-1)).toMatchObject({ content: "Half", error: { message: expect.any(String) } });
    expect([chats().length, toolRuns("charge").length]).toEqual([2, 1]);
  });
});

describe.runIf(host === "workerd")("case 245: an object that is lost in a turn", () => {
  test("The kept answer is read on to its end: the gateway is asked once", async () => {
    let rest: ServerResponse | undefined;
    answers((response) => {
      rest = response;
      response.write(chunk("One"));
    });
    await send();
    await last({ content: "One" });
    await lose();
    await thread();
    rest?.end(chunk(" two") + finish + done);
    await ended();
    expect(await thread()).toMatchObject([{ content: "Hi" }, { content: "One two", outcome: "complete" }]);
    expect(chats()).toHaveLength(1);
  });

  test("Lost twice, wherever the turn is: each step is asked for once, and the turn ends whole", async () => {
    answers((response) => response.end(CALLS), says("Done"));
    await send();
    for (let losses = 0; losses < 2; losses += 1) {
      await lose();
      // the next request continues it
      await thread();
    }
    await ended();
    const path = await thread();
    expect(path.at(-1)).toMatchObject({ content: "Done", outcome: "complete" });
    expect(chats()).toHaveLength(2);
    expect(toolRuns("charge").length).toBeLessThanOrEqual(1);
  });
});
