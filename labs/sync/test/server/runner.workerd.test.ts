import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { gateway, refusal } from "../../../../packages/durable/test/support/durable-gateway.js";
import { isWorkerd } from "../../../../packages/durable/test/support/platform.js";
import { type SeenMessage as Message, openRunUser } from "./support/run-user.js";
import { bodies, CANARY, calls, isKeeping, proxy, runs, says, script, tool } from "./support/runs.js";

let users = 0;
let user = "";
let log: MockInstance<typeof console.error>;

beforeEach(() => {
  user = `run-${++users}`;
  runs.reset();
  isKeeping.value = true;
  log = vi.spyOn(console, "error").mockImplementation(() => {});
  script(() => says("Hello"));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const ask = (method: string, part: string, body?: object, id?: string) =>
  openRunUser(user, id).ask(method, part, body && { device: "phone", ...body });

const question = (id: string, content = "Hi") => ({ id, role: "user", content, createdAt: 1 });
const turn = (id: string, parent: string | null = null, content?: string) =>
  ask("POST", "/turns", { message: question(id, content), parent });
const write = (key: string, value: unknown, seen = 0) =>
  ask("POST", "/records", { changes: { [key]: { value, seen } } });

const records = () => openRunUser(user).records();
const thread = () => openRunUser(user).thread();
const object = (id?: string) => openRunUser(user, id).object();

/** Resolves when the turn has ended. */
const ended = (count = 1) =>
  expect.poll(() => runs.events.length, { timeout: 20_000, interval: 5 }).toBe(count);
/** Resolves with the thread once its last message is so. */
async function last(seen: object): Promise<Message> {
  await expect
    .poll(async () => (await thread()).at(-1), { timeout: 20_000, interval: 10 })
    .toMatchObject(seen);
  return (await thread()).at(-1) as Message;
}

describe("a turn that a page hands over", () => {
  test("The device that asks is the author of its question, and none passes for the server", async () => {
    await ask("POST", "/turns", { message: question("q-1"), parent: null, by: "laptop" });
    await ended();
    const answer = (await thread()).at(-1)?.id ?? "";
    await ask("POST", "/turns", { message: question("q-2"), parent: answer, by: "server" });
    await ended(2);
    const all = await records();
    expect([all["q-1"]?.by, all[answer]?.by, all["q-2"]?.by]).toEqual(["laptop", "server", undefined]);
  });

  test("The server answers the question, and the event of the run has its end", async () => {
    const { status, json } = await turn("q-1");
    expect([status, json]).toEqual([202, { messageId: "q-1" }]);
    await ended();
    expect(await thread()).toMatchObject([
      { id: "q-1", role: "user", content: "Hi" },
      { role: "assistant", content: "Hello", outcome: "complete" },
    ]);
    expect(runs.events).toMatchObject([{ kind: "sync:run", id: "q-1", user, outcome: "complete" }]);
    expect(runs.ends).toMatchObject([{ id: "q-1", userId: user, conversation: "c-1", outcome: "complete" }]);
    const answer = (await thread())[1] as Message;
    expect((await records())[answer.id]).toMatchObject({ parent: "q-1", by: "server" });
  });

  test("Several steps with tools of the server come one after the other, each with the results before it", async () => {
    script(
      () => calls("lookup", "lookup"),
      () => calls("lookup"),
      () => says("Done"),
    );
    let ran = 0;
    runs.tools = [tool("lookup", async () => ({ found: ++ran }))];
    await turn("q-1");
    await ended();
    expect((await thread()).map(({ role, content, outcome }) => [role, content, outcome])).toEqual([
      ["user", "Hi", undefined],
      ["assistant", "", "tool-calls"],
      ["assistant", "", "tool-calls"],
      ["assistant", "Done", "complete"],
    ]);
    expect(ran).toBe(3);
    const [, , third] = bodies;
    expect(third?.messages.filter(({ role }) => role === "tool")).toHaveLength(3);
    expect(third?.messages[0]).toEqual({ role: "system", content: "Be brief." });
    expect(runs.requests.filter(({ route }) => route === "chat").every((one) => one.user === user)).toBe(
      true,
    );
  });

  test("The step limit of the runner ends a turn that calls tools for ever", async () => {
    script(() => calls("lookup"));
    runs.tools = [tool("lookup", async () => "x")];
    await turn("q-1");
    await ended();
    expect(gateway.requests).toHaveLength(4);
    expect((await thread()).at(-1)).toMatchObject({ outcome: "step-limit" });
    expect(runs.events).toMatchObject([{ outcome: "complete", code: "step_limit" }]);
  });

  test("A second question follows the first one, and the model gets both", async () => {
    await turn("q-1");
    await ended();
    const [, answer] = await thread();
    await turn("q-2", answer?.id, "And now?");
    await ended(2);
    expect((await thread()).map(({ content }) => content)).toEqual(["Hi", "Hello", "And now?", "Hello"]);
    const [, second] = bodies;
    expect(second?.messages.map(({ content }) => content)).toEqual(["Be brief.", "Hi", "Hello", "And now?"]);
  });

  test("A failed answer that a page hands over again is asked for below its question", async () => {
    script(() => refusal(400));
    await turn("q-1");
    await ended();
    const [, failed] = await thread();
    expect(failed).toMatchObject({ outcome: "error" });
    script(() => says("Better"));
    expect((await ask("POST", "/turns", { id: "again-1", parent: failed?.id })).status).toBe(202);
    await ended(2);
    expect(Object.values(await records()).map((record) => record.message?.content)).toContain("Better");
    expect(await thread()).toHaveLength(2);
  });

  test.each([
    ["no body", {}],
    ["a question without text", { message: question("q-1", " ") }],
    ["an id that is a key", { message: question("/leaf") }],
    ["an image that is no address", { message: { ...question("q-1"), images: ["javascript:alert(1)"] } }],
    ["a parent that is no id", { message: question("q-1"), parent: 7 }],
    ["a repetition without an id", { parent: "q-1" }],
  ])("%s is refused, and nothing is sent", async (_, body) => {
    const { status } = await ask("POST", "/turns", body);
    expect(status).toBe(400);
    expect(gateway.requests).toHaveLength(0);
  });

  test("A turn below a message that is not there yet waits for its record at the page: 409", async () => {
    const { status, json } = await turn("q-1", "unknown");
    expect([status, json.error.code]).toEqual([409, "message_unknown"]);
  });
});

describe("case 241: secrets of tools", () => {
  test("No record, event, answer of a tool to the model or line of the log has a secret of the Worker", async () => {
    const leaks = [
      async () => ({ key: CANARY }),
      async () => {
        throw new Error(`401 for https://api.example/?key=${CANARY}`);
      },
    ];
    script(
      () => calls("one", "two"),
      () => says("Done"),
    );
    runs.tools = [tool("one", leaks[0]), tool("two", leaks[1])];
    runs.instructions = () => "You know nothing.";
    await turn("q-1");
    await ended();
    const { json } = await ask("GET", "/export").catch(() => ({ json: "" }));
    const seen = [json, await records(), runs.events, runs.ends, runs.requests, log.mock.calls, bodies];
    expect(JSON.stringify(seen)).not.toContain(CANARY);
    expect(JSON.stringify(await records())).toContain("[hidden]");
  });

  test("Instructions that fail with a secret in their error show it nowhere, and the question has the error", async () => {
    runs.instructions = () => {
      throw new Error(`no way with ${CANARY}`);
    };
    await turn("q-1");
    await ended();
    expect(JSON.stringify([await records(), runs.events, log.mock.calls])).not.toContain(CANARY);
    expect(await thread()).toMatchObject([
      { id: "q-1", error: { message: expect.stringContaining("[hidden]") } },
    ]);
    expect(gateway.requests).toHaveLength(0);
  });
});

describe("case 242: calls that wait for a device", () => {
  const approval = async (answer = "Paid") => {
    script(
      () => calls("pay"),
      () => says(answer),
    );
    await turn("q-1");
    return await last({ toolCalls: [{ state: "needs-approval" }] });
  };

  test("An approval that two devices give at once runs the call once", async () => {
    let ran = 0;
    runs.tools = [tool("pay", async () => ++ran, { needsApproval: true })];
    const { id } = await approval();
    const key = `/reaction/${id}/call-0`;
    const [one, two] = await Promise.all([write(key, { approved: true }), write(key, { denied: "no" })]);
    expect([one, two].filter(({ json }) => json.taken[key] !== undefined)).toHaveLength(1);
    await ended();
    expect(ran).toBeLessThanOrEqual(1);
    expect((await thread()).at(-1)).toMatchObject({ content: "Paid", outcome: "complete" });
    expect(Object.keys(await records()).filter((name) => name.startsWith("/reaction"))).toEqual([]);
  });

  test("A denial reaches the model, and the call does not run", async () => {
    let ran = 0;
    runs.tools = [tool("pay", async () => ++ran, { needsApproval: true })];
    const { id } = await approval();
    await write(`/reaction/${id}/call-0`, { denied: "too dear" });
    await ended();
    expect(ran).toBe(0);
    const [, second] = bodies;
    expect(JSON.stringify(second?.messages)).toContain("too dear");
  });

  test("A reaction to a call that is unknown, or that is nonsense, changes nothing", async () => {
    runs.tools = [tool("pay", async () => 1, { needsApproval: true })];
    const { id } = await approval();
    await write(`/reaction/${id}/call-9`, { approved: true });
    await write(`/reaction/other/call-0`, { approved: true });
    expect((await thread()).at(-1)).toMatchObject({ toolCalls: [{ state: "needs-approval" }] });
    expect(gateway.requests).toHaveLength(1);
  });

  test("A turn that waits keeps no alarm of its own, and goes on after its object was lost", async () => {
    runs.tools = [tool("pay", async () => "ok", { needsApproval: true })];
    const { id } = await approval();
    await drained();
    const alarm = await runInDurableObject(await object(), (_, { storage }) => storage.getAlarm());
    // only that of the notes for the index may be left
    expect(alarm === null || alarm - Date.now() > 60_000).toBe(true);
    await evictDurableObject(await object());
    await write(`/reaction/${id}/call-0`, { approved: true });
    await ended();
    expect((await thread()).at(-1)).toMatchObject({ content: "Paid" });
    expect(gateway.requests).toHaveLength(2);
  });

  test("A call of a page's tool waits; the page that takes it first answers it, and others are told so", async () => {
    runs.tools = [tool("locate")];
    script(
      () => calls("locate"),
      () => says("Here"),
    );
    await turn("q-1");
    const { id } = await last({ toolCalls: [{ state: "needs-output" }] });
    const claims = await Promise.all(["a", "b", "c"].map((page) => write(`/claim/${id}/call-0`, { page })));
    expect(claims.filter(({ json }) => json.taken[`/claim/${id}/call-0`] !== undefined)).toHaveLength(1);
    await write(`/reaction/${id}/call-0`, { output: { city: "Rome" } });
    await ended();
    const [, second] = bodies;
    expect(JSON.stringify(second?.messages)).toContain("Rome");
    expect(Object.keys(await records()).filter((name) => /^.(claim|reaction)/.test(name))).toEqual([]);
  });

  test("A page that takes a call and is closed is not waited for: the model is told so", async () => {
    runs.tools = [tool("locate")];
    script(
      () => calls("locate"),
      () => says("Without it"),
    );
    await turn("q-1");
    const { id } = await last({ toolCalls: [{ state: "needs-output" }] });
    await write(`/claim/${id}/call-0`, { page: "a" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    try {
      await runDurableObjectAlarm(await object());
      await ended();
    } finally {
      vi.useRealTimers();
    }
    const [, second] = bodies;
    expect(JSON.stringify(second?.messages)).toContain("the page that ran this call was closed");
  });

  test("A new question ends a turn that waits: its calls are cancelled", async () => {
    runs.tools = [tool("pay", async () => 1, { needsApproval: true })];
    const { id } = await approval("Never mind");
    expect((await turn("q-2", id, "Forget it")).status).toBe(202);
    await ended(2);
    expect((await records())[id]?.message?.toolCalls).toMatchObject([{ state: "cancelled" }]);
    expect((await thread()).at(-1)).toMatchObject({ content: "Never mind" });
  });
});

/** Rings the alarm until none is due soon. */
async function drained(): Promise<void> {
  for (let rings = 0; rings < 5; rings += 1) if (!(await runDurableObjectAlarm(await object()))) return;
}

describe("a turn that is stopped", () => {
  test("Any device stops it: the text so far stays, and the event says so", async () => {
    const live = openLive();
    await turn("q-1");
    live.send({ content: "Half an" });
    await last({ content: "Half an" });
    expect((await ask("DELETE", "/turns")).status).toBe(204);
    await ended();
    expect((await thread()).at(-1)).toMatchObject({ content: "Half an", outcome: "stopped" });
    expect(runs.events).toMatchObject([{ outcome: "stopped" }]);
    expect((await ask("DELETE", "/turns")).status).toBe(204);
    live.end();
  });

  test("A record of a device that marks the answer as stopped stops it, too", async () => {
    const live = openLive();
    await turn("q-1");
    live.send({ content: "Half an" });
    const { id } = await last({ content: "Half an" });
    const { json } = await ask("GET", "/records");
    const { version, value } = json.records[id];
    await write(id, { ...value, isStopped: true }, version);
    await ended();
    expect(runs.events).toMatchObject([{ outcome: "stopped" }]);
    live.end();
  });

  test("A conversation that is removed ends its turn, and nothing is written any more", async () => {
    const live = openLive();
    await turn("q-1");
    live.send({ content: "Half an" });
    await last({ content: "Half an" });
    expect((await ask("DELETE", "")).status).toBe(204);
    await ended();
    expect(runs.events).toMatchObject([{ outcome: "stopped", code: "conversation_removed" }]);
    expect(await records()).toEqual({});
    live.end();
  });
});

/** Lets the gateway answer with a stream that the test sends. */
function openLive() {
  const parts: (string | undefined)[] = [];
  gateway.answers(
    ({ signal }) =>
      new Response(
        new ReadableStream(
          {
            async pull(controller) {
              while (parts.length === 0 && !signal.aborted)
                await new Promise((resolve) => setTimeout(resolve, 1));
              const part = parts.shift();
              if (part === undefined) controller.close();
              else controller.enqueue(new TextEncoder().encode(part));
            },
          },
          { highWaterMark: 0 },
        ),
        { headers: { "content-type": "text/event-stream" } },
      ),
  );
  const chunk = (choice: object) =>
    `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, ...choice }] })}\n\n`;
  return {
    send: (delta: object) => void parts.push(chunk({ delta })),
    finish: () => void parts.push(chunk({ delta: {}, finish_reason: "stop" }), "data: [DONE]\n\n", undefined),
    end: () => void parts.push(undefined),
  };
}

describe("devices that follow a turn", () => {
  test("They see the answer grow, also one that joins in the middle", async () => {
    const live = openLive();
    const first = await follow();
    await turn("q-1");
    live.send({ content: "One" });
    expect(await first.until("One")).toBe(true);
    const second = await follow();
    live.send({ content: " two" });
    expect(await first.until("One two")).toBe(true);
    expect(await second.until("One two")).toBe(true);
    live.finish();
    await ended();
    expect(await second.until('"complete"')).toBe(true);
    first.leave();
    second.leave();
  });
});

async function follow() {
  const leaving = new AbortController();
  const request = new Request("https://proxy.example/v1/conversations/c-1/follow?device=tablet", {
    headers: { authorization: user },
    signal: leaving.signal,
  });
  const reader = (await proxy.fetch(request, env)).body?.getReader();
  let text = "";
  return {
    leave: () => leaving.abort(),
    /** Reads until an event has a text. */
    async until(wanted: string): Promise<boolean> {
      while (!text.includes(wanted)) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return false;
        text += new TextDecoder().decode(value);
      }
      return true;
    },
  };
}

describe("case 243: a turn that comes twice", () => {
  test("From two devices at once, again later, and after its object was lost: one run", async () => {
    const all = await Promise.all([turn("q-1"), turn("q-1"), turn("q-1")]);
    expect(all.map(({ status }) => status)).toEqual([202, 202, 202]);
    await ended();
    expect((await turn("q-1")).status).toBe(202);
    await evictDurableObject(await object());
    expect((await turn("q-1")).status).toBe(202);
    expect(gateway.requests).toHaveLength(1);
    expect(runs.events).toHaveLength(1);
  });

  test("An answer that devices ask for with other ids while it is under way is one run, and later it is over", async () => {
    await turn("q-1");
    await ended();
    const again = (id: string) => ask("POST", "/turns", { id, message: question("q-1"), parent: null });
    const live = openLive();
    for (const id of ["a-1", "a-2", "a-1", "a-2"])
      expect(await again(id)).toMatchObject({ status: 202, json: { messageId: "q-1" } });
    expect((await ask("POST", "/turns", { id: "a-3", parent: (await thread())[1]?.id })).status).toBe(409);
    live.send({ content: "One" });
    live.finish();
    await ended(2);
    for (const id of ["a-1", "a-2"])
      expect(await again(id)).toMatchObject({ status: 202, json: { messageId: "q-1", isOver: true } });
    expect([runs.events.length, gateway.requests.length]).toEqual([2, 1]);
  });

  test("Another question while one is answered is refused with 409, and the first goes on", async () => {
    const live = openLive();
    await turn("q-1");
    live.send({ content: "One" });
    await last({ content: "One" });
    const { status, json } = await turn("q-2", "q-1");
    expect([status, json.error.code]).toEqual([409, "turn_in_progress"]);
    live.finish();
    await ended();
    expect((await thread()).at(-1)).toMatchObject({ content: "One", outcome: "complete" });
  });
});

describe("case 244: one bad answer", () => {
  test.each([
    ["404", () => refusal(404), { outcome: "refused", upstreamStatus: 404 }],
    ["400", () => refusal(400), { outcome: "refused", upstreamStatus: 400 }],
    ["402", () => refusal(402), { outcome: "failed" }],
    ["429 with a day to wait", () => refusal(429, { "retry-after": "86400" }), { outcome: "refused" }],
    [
      "nonsense",
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      { outcome: "failed" },
    ],
    ["a stream that breaks off", () => streamedCut(), {}],
  ])("%s ends the turn with the error in the message, and the next turn works", async (_, bad, event) => {
    script(() => bad());
    await turn("q-1");
    await ended();
    expect(runs.events).toMatchObject([{ kind: "sync:run", ...event }]);
    const seen = (await thread()).at(-1);
    expect(seen?.error).toMatchObject({ message: expect.any(String) });
    expect(gateway.requests.length).toBeLessThanOrEqual(3);
    script(() => says("Fine"));
    await turn("q-2", seen?.id);
    await ended(2);
    expect((await thread()).at(-1)).toMatchObject({ content: "Fine" });
  });

  test("A step that fails after tools keeps the steps before it", async () => {
    script(
      () => calls("lookup"),
      () => refusal(400),
    );
    runs.tools = [tool("lookup", async () => "found")];
    await turn("q-1");
    await ended();
    const path = await thread();
    expect(path[1]).toMatchObject({ toolCalls: [{ state: "done", output: "found" }] });
    expect(path.at(-1)?.error ?? path[1]?.error).toBeDefined();
    expect(runs.events).toMatchObject([{ outcome: "refused" }]);
  });

  test("A budget that is used up ends the turn with its error, and nothing reaches the gateway", async () => {
    isKeeping.value = false;
    runs.budget = { retryAfterMs: 86_400_000 };
    await turn("q-1");
    await ended();
    expect(gateway.requests).toHaveLength(0);
    expect(runs.events).toMatchObject([{ outcome: "refused", code: "budget_exhausted" }]);
    const seen = (await thread()).at(-1);
    expect(seen?.error).toMatchObject({ code: "budget_exhausted", status: 429 });
  });
});

function streamedCut(): Response {
  const text = `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, delta: { content: "Cut" } }] })}\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** Ends the object as a crash does, in the middle of its work: to be evicted, it would have to be idle. */
async function loseAtWork(): Promise<void> {
  if (!isWorkerd) return await evictDurableObject(await object());
  const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
  await runInDurableObject(await object(), abort).catch(() => {});
}

describe("case 245: calls that run while their object is lost", () => {
  test("A call that has saved its state runs again, a call that has saved nothing is cancelled, and the turn goes on", async () => {
    script(
      () => calls("charge", "film"),
      () => says("Done"),
    );
    const states: unknown[] = [];
    const charge = vi.fn(() => new Promise(() => {}));
    runs.tools = [
      tool("charge", charge),
      tool("film", async (_, { savedState, saveState }) => {
        states.push(savedState);
        if (savedState !== undefined) return "ok";
        await saveState({ task: "t-1" });
        return await new Promise(() => {});
      }),
    ];
    await turn("q-1");
    await last({ toolCalls: [{ state: "running" }, { state: "running", savedState: { task: "t-1" } }] });
    await loseAtWork();
    // the next request continues it
    await records();
    await ended();
    const path = await thread();
    expect(path[1]?.toolCalls).toMatchObject([
      { state: "cancelled", error: expect.stringContaining("may have had its effect") },
      { state: "done", output: "ok" },
    ]);
    expect(path.at(-1)).toMatchObject({ content: "Done", outcome: "complete" });
    expect(states).toEqual([undefined, { task: "t-1" }]);
    expect([charge.mock.calls.length, gateway.requests.length]).toEqual([1, 2]);
  });
});

describe("case 246: a turn that comes to nothing", () => {
  test("After `stallMs` without a sign of life it is stopped, and its message says so", async () => {
    runs.tools = [tool("sleep", () => new Promise(() => {}), { timeoutMs: 86_400_000 })];
    script(() => calls("sleep"));
    await turn("q-1");
    await last({ toolCalls: [{ state: "running" }] });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 121_000 });
    try {
      await runDurableObjectAlarm(await object());
      await ended();
    } finally {
      vi.useRealTimers();
    }
    expect(runs.events).toMatchObject([{ outcome: "failed", code: "run_stalled" }]);
    expect((await thread()).at(-1)).toMatchObject({ error: { code: "run_stalled" } });
  });
});

describe("case 256: a turn that starts again and again", () => {
  test("After three starts that come to no new message it is lost, and its question says so", async () => {
    runs.isBroken = true;
    await turn("q-1");
    for (let rings = 0; rings < 3; rings += 1) {
      expect(runs.events).toEqual([]);
      await runDurableObjectAlarm(await object());
    }
    await ended();
    expect(runs.events).toMatchObject([{ id: "q-1", outcome: "lost", code: "run_lost" }]);
    expect((await thread()).at(-1)).toMatchObject({ id: "q-1", error: { code: "run_lost" } });
    expect(gateway.requests).toHaveLength(0);
    runs.isBroken = false;
    expect((await turn("q-2", "q-1")).status).toBe(202);
    await ended(2);
    expect((await thread()).at(-1)).toMatchObject({ content: "Hello" });
  });

  test("One that works at its second start goes on, and is asked for once", async () => {
    runs.isBroken = true;
    await turn("q-1");
    runs.isBroken = false;
    await runDurableObjectAlarm(await object());
    await ended();
    expect(runs.events).toMatchObject([{ outcome: "complete" }]);
    expect(gateway.requests).toHaveLength(1);
  });
});

describe("case 257: an answer that a process has left in flight", () => {
  /** Lets a turn end, and makes of its rows what a process leaves that ends in the middle of the answer. */
  async function leftInFlight(more: object, ageMs: number): Promise<void> {
    const live = openLive();
    await turn("q-1");
    live.send({ content: "One" });
    const { id, streamId } = (await last({ content: "One" })) as Message & { streamId: string };
    const [row] = await rowsOf("SELECT run FROM turns");
    live.send({ content: " two" });
    live.finish();
    await ended();
    const record = (await records())[id] as { readonly message: Message };
    const { outcome: _, ...message } = record.message;
    const left = { ...message, content: "One", streamId, createdAt: Date.now() - ageMs, ...more };
    const value = JSON.stringify({ ...record, message: left });
    await rowsOf("UPDATE records SET value = ? WHERE key = ?", value, id);
    await rowsOf("UPDATE turns SET run = ?", row?.["run"]);
    await evictDurableObject(await object());
    // the next request continues it
    await records();
    await ended(2);
  }

  async function rowsOf(query: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await runInDurableObject(await object(), (_, { storage }) =>
      storage.sql.exec(query, ...values).toArray(),
    )) as Record<string, unknown>[];
  }

  test.each([
    ["a second", 1_000],
    ["an hour", 3_600_000],
  ])(
    "Of the age of %s, it is read to its end by its id, for as long as the proxy keeps it",
    async (_, ageMs) => {
      await leftInFlight({}, ageMs);
      expect((await thread()).at(-1)).toMatchObject({ content: "One two", outcome: "complete" });
      expect(runs.events[1]).toMatchObject({ outcome: "complete" });
      expect(gateway.requests).toHaveLength(1);
    },
  );

  test.each([
    ["whose id the proxy does not know", { streamId: "unknown-1" }],
    ["that has a key alone", { streamId: undefined, idempotencyKey: "key-of-an-hour-ago" }],
  ])(
    "One of an hour ago %s is lost, and is not asked for again: its message says that it may be billed",
    async (_, more) => {
      await leftInFlight(more, 3_600_000);
      expect((await thread()).at(-1)).toMatchObject({
        content: "One",
        error: { message: expect.stringContaining("may be billed") },
      });
      expect(runs.events[1]).toMatchObject({ outcome: "lost" });
      expect(gateway.requests).toHaveLength(1);
    },
  );
});
