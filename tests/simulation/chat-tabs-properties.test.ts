import { type ChatMessage, memoryStorage } from "@sluice/stores";
import fc from "fast-check";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { DONE, frame, settled } from "../../packages/core/test/support/gateway.js";
import { readStored } from "../../packages/stores/test/support/tabs.js";
import { readRuns } from "../support/seed.js";
import {
  type Connection,
  createTabsScenario,
  type Locks,
  listReachable,
  type Reads,
  type Tab,
  waitForRest,
} from "../support/tabs-scenario.js";
import type { WhenBusy } from "../support/when-busy.js";

// load the code that a chat loads on demand, so that no test waits for it
beforeAll(() => readStored(memoryStorage()));
afterEach(() => vi.unstubAllGlobals());

/** Next step and its tab; numbers choose among the possible ones. */
type Step =
  | { do: "send" | "stop" | "retry" | "reload" | "crash" | "release" | "approve" | "deny"; tab: number }
  | { do: "edit" | "regenerate" | "switch"; tab: number; which: number }
  | { do: "open"; reads: Reads }
  | { do: "say" | "end" | "cut" | "drop"; which: number }
  | { do: "call"; which: number; tool: string }
  /** A whole turn that calls a tool. */
  | { do: "turn"; tab: number; tool: string }
  | { do: "add output in all" | "approve in all" | "retry in all" | "finish tool" | "wait" };

const tab = fc.nat({ max: 2 });
const which = fc.nat({ max: 7 });
const tool = fc.constantFrom("quick", "slow", "guarded", "asked", "nothing");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("turn" as const), tab, tool }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("crash" as const), tab }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("send" as const), tab }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("stop", "retry", "reload", "crash", "release", "approve", "deny"),
      tab,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("edit", "regenerate", "switch"), tab, which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("open" as const),
      reads: fc.constantFrom<Reads>("sound", "sound", "sound", "hangs", "fails"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom("say", "say", "end", "end", "cut", "drop"), which }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("call" as const), which, tool }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "add output in all",
        "add output in all",
        "approve in all",
        "retry in all",
        "finish tool",
        "wait",
      ),
    }),
  },
) as fc.Arbitrary<Step>;

/** Steps that allow a history to be sent again. */
const repeats: ReadonlySet<string> = new Set([
  "retry",
  "retry in all",
  "regenerate",
  "edit",
  "crash",
  "reload",
]);

type Simulation = ReturnType<typeof createTabsScenario>;

function pick<T>(list: readonly T[], index: number): T | undefined {
  return list[index % Math.max(list.length, 1)];
}

async function take(simulation: Simulation, tabs: Tab[], next: Step, nth: number): Promise<void> {
  const { connections, finishTool, clock } = simulation;
  const own = "tab" in next ? pick(tabs, next.tab) : undefined;
  if (own) {
    const requestCount = connections.length;
    own.run(() => act(own));
    await settled();
    const connection = connections[requestCount];
    if (next.do === "turn" && connection) {
      speak(connection, requestCount, { do: "call", which: 0, tool: next.tool });
      speak(connection, requestCount, { do: "end", which: 0 });
    }
  } else if (next.do === "open") {
    if (tabs.length < 3) tabs.push(simulation.open(next.reads));
  } else if (next.do === "finish tool") finishTool.shift()?.();
  else if (next.do === "wait") await clock.advance(3100);
  else if (next.do === "add output in all" || next.do === "approve in all" || next.do === "retry in all")
    for (const { chat, turns, run } of tabs)
      run(() => {
        if (next.do === "retry in all") return turns.push(chat.retry());
        for (const { type, toolCallId } of chat.getSnapshot().pendingActions)
          if (type === "output" && next.do === "add output in all")
            turns.push(chat.addToolOutput(toolCallId, "yes"));
          else if (type === "approval" && next.do === "approve in all") turns.push(chat.approve(toolCallId));
      });
  else if ("which" in next) {
    const connection = pick(connections.filter(isOpen), next.which);
    if (connection) speak(connection, connections.indexOf(connection), next);
  }
  await waitForRest(clock);

  function act({ chat, turns, release, ...rest }: Tab): unknown {
    const { messages, pendingActions } = chat.getSnapshot();
    const index = tabs.indexOf(own as Tab);
    const message = "which" in next ? pick(messages, next.which) : undefined;
    switch (next.do) {
      case "send":
      case "turn":
        return turns.push(chat.send(`question ${nth}`));
      case "stop":
        return chat.stop();
      case "retry":
        return turns.push(chat.retry());
      case "edit":
        return turns.push(chat.edit(message?.id ?? "", `edited ${nth}`));
      case "regenerate":
        return turns.push(chat.regenerate(message?.id));
      case "switch":
        return chat.switchBranch(pick(message?.branches ?? [], nth) ?? "");
      case "release":
        return release();
      case "approve":
      case "deny":
        return turns.push(chat[next.do](pendingActions[0]?.toolCallId ?? "none"));
      case "reload":
        chat.close();
        return tabs.splice(index, 1, simulation.open("sound"));
      case "crash":
        simulation.crash(own as Tab);
        return tabs.splice(index, 1);
      default:
        return rest;
    }
  }
}

function isOpen({ isOver, body }: Connection): boolean {
  return !isOver && !body.cancelled;
}

function speak(connection: Connection, nth: number, next: Step): void {
  const { body } = connection;
  switch (next.do) {
    case "say": {
      const text = `<${nth}.${connection.said.length}>`;
      connection.said += text;
      return body.send(frame({ content: text }));
    }
    case "call": {
      const index = connection.calls++;
      const call = { index, id: `call-${nth}-${index}`, function: { name: next.tool, arguments: "{}" } };
      return body.send(frame({ tool_calls: [call] }));
    }
    default:
      connection.isOver = true;
      if (next.do === "drop") return body.drop();
      if (next.do === "end") body.send(frame({}, connection.calls > 0 ? "tool_calls" : "stop") + DONE);
      body.end();
  }
}

/** Checks a history as a gateway does: one result directly after each call, and no empty message. */
function assertSound(messages: readonly Record<string, unknown>[]): void {
  let waiting: string[] = [];
  for (const { role, content, tool_calls, tool_call_id } of messages) {
    if (role === "tool") expect(waiting.shift()).toBe(tool_call_id);
    else expect(waiting).toEqual([]);
    if (role !== "assistant") continue;
    waiting = ((tool_calls ?? []) as { id: string }[]).map(({ id }) => id);
    expect(content || waiting.length > 0).toBeTruthy();
  }
  expect(waiting).toEqual([]);
  expect(["user", "tool"]).toContain(messages.at(-1)?.["role"]);
}

/** Messages with content, as every tab should have them. The order of versions is not compared. */
function readContent(messages: Iterable<ChatMessage>) {
  return [...messages]
    .filter(({ role, content, toolCalls }) => role === "user" || content || toolCalls?.length)
    .map(({ id, content, outcome, toolCalls }) => ({
      id,
      content,
      outcome,
      calls: toolCalls?.map(({ id, state }) => `${id} ${state}`),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function settle(simulation: Simulation, tabs: readonly Tab[]): Promise<void> {
  const { clock, connections, finishTool } = simulation;
  for (const { release, reads, chat, run } of tabs) {
    release();
    // a storage that can't be read is read again with the next write
    if (reads === "fails") run(() => void chat.send("at last"));
  }
  for (let round = 0; round < 8; round += 1) {
    for (const finish of finishTool.splice(0)) finish();
    for (const connection of connections.filter(isOpen))
      speak(connection, connections.indexOf(connection), { do: "end", which: 0 });
    await waitForRest(clock, 1100);
  }
  for (const { chat, run } of tabs) run(() => chat.stop());
  await waitForRest(clock, 3100);
  await waitForRest(clock, 1100);
}

test("any order of events in up to three tabs loses no turn, repeats no step, and ends with equal threads", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<WhenBusy>("reject", "queue", "replace"),
      fc.constantFrom<Locks>("sound", "sound", "sound", "absent", "refused"),
      fc.array(step, { minLength: 5, maxLength: 30 }),
      async (whenBusy, kind, steps) => {
        const simulation = createTabsScenario(whenBusy, kind);
        vi.stubGlobal("navigator", simulation.navigator);
        const { connections, executions, storage } = simulation;
        const tabs = [simulation.open("sound"), simulation.open("sound")];
        await settled();
        for (const [nth, next] of steps.entries()) await take(simulation, tabs, next, nth);
        await settle(simulation, tabs);

        for (const { requests } of connections) assertSound(requests);
        if (kind === "sound") expect(executions).toEqual([...new Set(executions)]);
        const mayRepeat = steps.some(({ do: done }) => repeats.has(done));
        const continued = connections
          .map(({ requests }) => requests)
          .filter((requests) => requests.at(-1)?.["role"] === "tool");
        if (kind === "sound" && !mayRepeat)
          expect(continued).toHaveLength(new Set(continued.map((requests) => JSON.stringify(requests))).size);
        for (const { turns } of tabs) await Promise.all(turns);

        // a tab without locks or a channel must reload to see the results of other tabs
        const reloaded = [simulation.open("sound"), ...(kind === "sound" ? tabs : [])];
        await waitForRest(simulation.clock, 1100);
        const [fresh] = reloaded as [Tab];
        const stored = [...(await storage.read("chat/a")).values()].flatMap((record) =>
          typeof record === "object" ? ((record as { message?: ChatMessage }).message ?? []) : [],
        );
        const all = fresh.run(() => readContent(listReachable(fresh.chat).values()));
        expect(all.map(({ id }) => id)).toEqual(readContent(stored).map(({ id }) => id));
        for (const { tab, said } of connections)
          if (tab.isAlive && said) expect(all.map(({ content }) => content)).toContain(said);
        for (const { chat, run } of reloaded) {
          const messages = run(() => [...listReachable(chat).values()]);
          expect(readContent(messages)).toEqual(all);
          expect(["ready", "error", "requires-action"]).toContain(chat.getSnapshot().status);
          const passed = chat.getSnapshot().messages.slice(0, -1);
          for (const { toolCalls = [] } of passed)
            for (const { state } of toolCalls)
              expect(["needs-approval", "needs-output"]).not.toContain(state);
          for (const { role, outcome, toolCalls = [] } of messages) {
            if (role === "assistant") expect(outcome).toBeDefined();
            for (const { state } of toolCalls) expect(["streaming", "running"]).not.toContain(state);
          }
        }
        for (const { chat, run } of [...tabs, fresh]) run(() => chat.close());
        await settled();
      },
    ),
    readRuns(4),
  );
}, 600_000);
