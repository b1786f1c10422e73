import { defineTool } from "@sluice/core";
import {
  type ChatMessage,
  type ChatStore,
  type ChatTurn,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../packages/core/test/support/gateway.js";
import { readRuns } from "../support/seed.js";
import type { WhenBusy } from "../support/when-busy.js";

/** Next step of the user, the app, a tool or the gateway; numbers choose among the possible ones. */
type Step =
  | { do: "send" | "stop" | "retry" | "reload" | "leave" | "finish tool" }
  | { do: "edit" | "regenerate" | "switch" | "approve" | "deny" | "result"; which: number }
  | { do: "say" | "think" | "end" | "cut" | "break"; which: number }
  | { do: "call"; tool: string; text: string };

const which = fc.nat({ max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("stop", "retry", "reload", "leave", "finish tool") }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("edit", "regenerate", "switch", "approve", "deny", "result"),
      which,
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("say", "think", "end", "cut", "break"), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      tool: fc.constantFrom("quick", "slow", "guarded", "asked", "throws", "nothing"),
      text: fc.constantFrom("{}", "", '{"a":1}', '{"cut":'),
    }),
  },
) as fc.Arbitrary<Step>;

interface Connection {
  readonly body: ReturnType<typeof openBody>;
  readonly requests: Record<string, unknown>[];
  said: string;
  thought: string;
  calls: number;
  closed: boolean;
}

/** A chat with its gateway, tools and storage, and all texts that were ever sent. */
function createScenario(whenBusy: WhenBusy) {
  const clock = stoppedClock();
  const storage = memoryStorage();
  const connections: Connection[] = [];
  const finishTool: (() => void)[] = [];
  const turns: Promise<ChatTurn>[] = [];
  const { client } = createTestClient(
    async (request) => {
      const body = openBody();
      connections.push({
        body,
        requests: (await request.json()).messages,
        said: "",
        thought: "",
        calls: 0,
        closed: false,
      });
      return streamResponse(body.body);
    },
    { clock },
  );
  const parameters = { type: "object" };
  const tools = [
    defineTool({ name: "quick", inputSchema: parameters, execute: () => "done" }),
    defineTool({ name: "throws", inputSchema: parameters, execute: () => Promise.reject(new Error("no")) }),
    defineTool({ name: "guarded", inputSchema: parameters, needsApproval: true, execute: () => "allowed" }),
    defineTool({ name: "asked", inputSchema: parameters }),
    defineTool({
      name: "slow",
      inputSchema: parameters,
      timeoutMs: Number.POSITIVE_INFINITY,
      execute: () => new Promise<string>((resolve) => finishTool.push(() => resolve("at last"))),
    }),
  ];
  let sent = 0;
  let chat = open();
  let leave = chat.subscribe(() => {});
  return { connections, step: take, chat: () => chat, listAll, turns, storage };

  function open(): ChatStore {
    return createChatStore(client, {
      id: "a",
      model: "alpha-v4.1-flash",
      tools,
      whenBusy,
      storage,
      maxSteps: 3,
    });
  }

  function runSteps(): Connection | undefined {
    return connections.find((connection) => isOpen(connection));
  }

  /** Every message that was ever stored, shown or not. */
  async function listAll(): Promise<ChatMessage[]> {
    const records = [...(await storage.read("chat/a")).values()] as { message?: ChatMessage }[];
    return records.flatMap(({ message }) => message ?? []);
  }

  async function take(next: Step): Promise<void> {
    const { messages, pendingActions } = chat.getSnapshot();
    const pick = <T>(list: readonly T[], index: number): T | undefined =>
      list[index % Math.max(list.length, 1)];
    const connection = runSteps();
    switch (next.do) {
      case "send":
        sent += 1;
        turns.push(chat.send(`question ${sent}`));
        break;
      case "stop":
        chat.stop();
        break;
      case "retry":
        turns.push(chat.retry());
        break;
      case "reload":
        // the old page is gone: its requests are cut, its tools forgotten
        chat.close();
        await settled();
        chat = open();
        leave = chat.subscribe(() => {});
        break;
      case "leave":
        leave();
        leave = chat.subscribe(() => {});
        break;
      case "finish tool":
        finishTool.shift()?.();
        break;
      case "edit":
        turns.push(chat.edit(pick(messages, next.which)?.id ?? "", "edited"));
        break;
      case "regenerate":
        turns.push(chat.regenerate(next.which === 0 ? undefined : pick(messages, next.which)?.id));
        break;
      case "switch": {
        const versions = messages.flatMap(({ branches }) => branches ?? []);
        chat.switchBranch(pick(versions, next.which) ?? "");
        break;
      }
      case "approve":
      case "deny":
      case "result": {
        const id = pick(pendingActions, next.which)?.toolCallId ?? "none";
        turns.push(next.do === "result" ? chat.addToolOutput(id, "given") : chat[next.do](id));
        break;
      }
      default:
        if (connection) speak(connection, next);
    }
    await settled();
    await clock.advance(60);
  }

  function speak(connection: Connection, next: Step): void {
    const { body } = connection;
    const nth = connections.indexOf(connection);
    switch (next.do) {
      case "say": {
        const text = `<${nth}.${connection.said.length}>`;
        connection.said += text;
        body.send(frame({ content: text }));
        break;
      }
      case "think":
        connection.thought += `(${nth})`;
        body.send(frame({ reasoning_content: `(${nth})` }));
        break;
      case "call": {
        const index = connection.calls++;
        const tool_calls = [
          { index, id: `call-${index}`, function: { name: next.tool, arguments: next.text } },
        ];
        body.send(frame({ tool_calls }));
        break;
      }
      case "end":
        connection.closed = true;
        body.send(frame({}, connection.calls > 0 && next.which > 0 ? "tool_calls" : "stop") + DONE);
        body.end();
        break;
      case "cut":
        connection.closed = true;
        body.end();
        break;
      default:
        connection.closed = true;
        body.drop();
    }
  }
}

function isOpen({ closed, body }: Connection): boolean {
  return !closed && !body.cancelled;
}

/** Checks a history as a gateway does: one result directly after each call, and no empty message. */
function assertSound(messages: readonly Record<string, unknown>[]): void {
  let waiting: string[] = [];
  for (const { role, content, tool_calls, tool_call_id } of messages) {
    if (role === "tool") expect(waiting.shift()).toBe(tool_call_id);
    else expect(waiting).toEqual([]);
    if (role !== "assistant") continue;
    const calls = (tool_calls ?? []) as { id: string; function: { arguments: string } }[];
    for (const call of calls) JSON.parse(call.function.arguments);
    waiting = calls.map(({ id }) => id);
    expect(content || calls.length > 0).toBeTruthy();
  }
  expect(waiting).toEqual([]);
  expect(["user", "tool"]).toContain(messages.at(-1)?.["role"]);
}

test("any order of events keeps one writer, all results and all text, and sends no request twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<WhenBusy>("reject", "queue", "replace"),
      fc.array(step, { minLength: 5, maxLength: 40 }),
      async (whenBusy, steps) => {
        const { connections, step: take, chat, listAll, turns } = createScenario(whenBusy);
        await settled();
        let before = chat().getSnapshot();
        for (const next of steps) {
          const requestCount = connections.length;
          await take(next);
          expect(connections.filter(isOpen).length).toBeLessThanOrEqual(1);
          expect(connections.length - requestCount).toBeLessThanOrEqual(1);
          const state = chat().getSnapshot();
          if (connections.some(isOpen)) expect(["submitted", "streaming"]).toContain(state.status);
          if (state.status === "requires-action") expect(state.pendingActions).not.toEqual([]);
          if (next.do !== "reload") assertSameIdentity(before.messages, state.messages);
          before = state;
        }
        chat().stop();
        await settled();
        for (const { requests } of connections) assertSound(requests);
        const stored = await listAll();
        for (const { said, thought } of connections) {
          const isStored = stored.some((m) => m.content === said && (m.reasoning ?? "") === thought);
          expect(isStored || said + thought === "").toBe(true);
        }
        for (const message of stored) {
          if (message.role === "assistant") expect(message.outcome).toBeDefined();
          for (const { state } of message.toolCalls ?? [])
            expect(["streaming", "running"]).not.toContain(state);
        }
        // none hangs, none rejects
        await Promise.all(turns);
      },
    ),
    readRuns(8),
  );
}, 120_000);

/** An unchanged message is the same object. */
function assertSameIdentity(before: readonly ChatMessage[], after: readonly ChatMessage[]): void {
  const known = new Map(before.map((message) => [message.id, message]));
  for (const message of after) {
    const old = known.get(message.id);
    if (old && JSON.stringify(old) === JSON.stringify(message)) expect(message).toBe(old);
  }
}
