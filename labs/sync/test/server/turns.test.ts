import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool } from "@sluice/core";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createModel } from "./support/model.js";
import { type Device, databases, openServer, type ServerOptions, stopPostgres } from "./support/server.js";

afterAll(stopPostgres);

const COLLECTION = "chat/trip";
const TURN = { turn: "turn-1", collection: COLLECTION, question: "q1", model: "delta-5.3" };

const WAIT = { name: "wait", description: "Waits.", inputSchema: { type: "object" } } as const;

interface Stored {
  readonly message: {
    readonly role: string;
    readonly content: string;
    readonly outcome?: string;
    readonly error?: { readonly code: string };
    readonly toolCalls?: readonly {
      readonly id: string;
      readonly state: string;
      readonly output?: unknown;
    }[];
  };
  readonly turn?: string;
  readonly decisions?: readonly object[];
}

/** Opens a server with a question in it. */
async function openTurns(
  turns: ServerOptions["turns"] = {},
  options: ServerOptions & { database?: "SQLite" | "Postgres" } = {},
) {
  const model = createModel();
  const { database = "SQLite", ...rest } = options;
  const server = await openServer(database, { gateway: model.gateway, turns, ...rest });
  const device = server.device("ada");
  await device.push(COLLECTION, null, [
    { record: "q1", value: { message: { role: "user", content: "Where to?" }, parent: null, revision: 0 } },
  ]);
  return { server, model, device };
}

/** Reads the responses of the model that the collection has. */
async function readResponses(device: Device): Promise<Stored[]> {
  const all = Object.values(await device.readAll(COLLECTION)) as Stored[];
  return all.filter(({ message }) => message.role === "assistant");
}

/** Waits until a turn has a state, by the events. */
async function waitFor(device: Device, state: string, turn = "turn-1") {
  const events = await device.events();
  for (;;) {
    const report = await device.turn("state", { turn });
    if (report.state === state) {
      await events.end();
      return report;
    }
    if (report.state !== "running" && report.state !== "waiting") throw new Error(JSON.stringify(report));
    await events.next();
  }
}

/** Collects the lines of the proxy's log. */
function watchLog(): unknown[][] {
  const lines: unknown[][] = [];
  const spy = vi.spyOn(console, "error").mockImplementation((...line) => void lines.push(line));
  onTestFinished(() => spy.mockRestore());
  return lines;
}

const approve = (call: { record: string; call: string } | undefined, more: object = {}) => ({
  turn: "turn-1",
  record: call?.record,
  call: call?.call,
  decision: "approve",
  ...more,
});

describe.each(databases)("Turns on %s", (database) => {
  test("the server responds to a stored question, and every device sees the response grow", async () => {
    const { device, model, server } = await openTurns({ instructions: "You plan journeys." }, { database });
    const phone = server.device("ada");
    expect(await device.turn("start", TURN)).toMatchObject({ status: 200, turn: "turn-1", state: "running" });
    const request = await model.next();
    expect(request.body.messages).toEqual([
      { role: "system", content: "You plan journeys." },
      { role: "user", content: "Where to?" },
    ]);
    request.text("To ");
    const events = await phone.events();
    for (;;) {
      const [response] = await readResponses(phone);
      if (response?.message.content === "To ") break;
      await events.next();
    }
    request.end("Rome.");
    expect(await waitFor(phone, "done")).toMatchObject({ status: 200, state: "done" });
    expect(await readResponses(phone)).toMatchObject([
      { message: { content: "To Rome.", outcome: "complete" }, parent: "q1", turn: "turn-1" },
    ]);
    // a repeat returns the state of the first request
    expect(await phone.turn("start", { ...TURN, question: "other" })).toMatchObject({ state: "done" });
    expect(model.count).toBe(1);
  });

  test("a tool waits for the first of two decisions, and the state names who decided", async () => {
    const runs: unknown[] = [];
    const book = defineTool({
      name: "book",
      description: "Books.",
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: (input) => {
        runs.push(input);
        return "booked";
      },
    });
    const { device, model, server } = await openTurns({ tools: [book] }, { database });
    const phone = server.device("ada");
    await device.turn("start", TURN);
    (await model.next()).call({ id: "c1", name: "book", arguments: { to: "Rome" } });
    const { calls = [] } = await waitFor(device, "waiting");
    expect(calls).toMatchObject([{ call: "c1", name: "book", for: "approval" }]);
    const decisions = await Promise.all([
      device.turn("decide", approve(calls[0], { device: "laptop" })),
      phone.turn("decide", approve(calls[0], { decision: "deny", device: "phone" })),
    ]);
    const [first, second] = decisions;
    expect(first.decided).toEqual(second.decided);
    const { decision, by } = first.decided as { decision: string; by: { device: string } };
    expect([decision, by.device].join()).toMatch(/^(approve,laptop|deny,phone)$/);
    (await model.next()).end("Done.");
    await waitFor(device, "done");
    expect(runs).toEqual(decision === "approve" ? [{ to: "Rome" }] : []);
    const [call, end] = await readResponses(device);
    expect(call?.decisions).toEqual([
      { call: "c1", decision, by: { account: first.account, device: by.device } },
    ]);
    expect(end?.message.content).toBe("Done.");
  });
});

const danger = (runs: unknown[]) =>
  defineTool({
    name: "danger",
    description: "Pays.",
    inputSchema: { type: "object" },
    needsApproval: true,
    execute: (input) => {
      runs.push(input);
      return "done";
    },
  });

test("no device changes the calls that an approval runs", async () => {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "danger", arguments: { pay: 1 } });
  const { calls = [] } = await waitFor(device, "waiting");
  const { cursor, changes } = await device.pull(COLLECTION);
  const record = changes.find(({ record: id }) => id === calls[0]?.record);
  const forged = JSON.parse(
    JSON.stringify(record?.value)
      .replaceAll('{\\"pay\\":1}', '{\\"pay\\":9}')
      .replaceAll('"pay":1', '"pay":9'),
  );
  const base = record?.version ?? 0;
  const pushed = await device.push(COLLECTION, cursor, [
    { record: calls[0]?.record ?? "", base, value: forged },
  ]);
  expect(pushed.results).toEqual([
    expect.objectContaining({
      status: "refused",
      code: "server_record",
      version: base,
      value: record?.value,
    }),
  ]);
  await device.turn("decide", approve(calls[0]));
  (await model.next()).end("Paid.");
  await waitFor(device, "done");
  expect(runs).toEqual([{ pay: 1 }]);
});

/** Opens a turn whose call waits for an approval, and pulls the record of its response. */
async function openWaitingTurn() {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "danger", arguments: { pay: 1 } });
  const { calls = [] } = await waitFor(device, "waiting");
  const { cursor, changes } = await device.pull(COLLECTION);
  const own = changes.find(({ record }) => record === calls[0]?.record);
  return { runs, device, model, calls, cursor, own };
}

test("a record of the server that a device has replaced ends the turn, and nothing runs", async () => {
  const { runs, device, model, calls, cursor, own } = await openWaitingTurn();
  const record = calls[0]?.record ?? "";
  const gone = await device.push(COLLECTION, cursor, [{ record, base: own?.version ?? 0, value: null }]);
  await device.push(COLLECTION, gone.cursor, [
    { record, base: gone.results[0]?.version ?? 0, value: own?.value },
  ]);
  await device.turn("decide", approve(calls[0]));
  expect(await waitFor(device, "failed")).toMatchObject({ code: "record_deleted" });
  expect([runs.length, model.count]).toEqual([0, 1]);
});

test("a turn ends when a device deletes the response that waits, and the conversation takes the next one", async () => {
  const { runs, device, model, calls, cursor, own } = await openWaitingTurn();
  await device.push(COLLECTION, cursor, [
    { record: calls[0]?.record ?? "", base: own?.version ?? 0, value: null },
  ]);
  expect(await device.turn("start", { ...TURN, turn: "turn-2" })).toMatchObject({ state: "running" });
  (await model.next()).end("Rome.");
  await waitFor(device, "done", "turn-2");
  expect(await device.turn("state", { turn: "turn-1" })).toMatchObject({
    state: "failed",
    code: "record_deleted",
  });
  expect(await device.turn("decide", approve(calls[0]))).toMatchObject({ status: 409 });
  expect(runs).toEqual([]);
});

test("tool calls in a record that a device wrote never run", async () => {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  const call = (state: string) => ({
    id: `c-${state}`,
    name: "danger",
    arguments: '{"pay":9}',
    input: { pay: 9 },
    state,
    savedState: 1,
  });
  const { cursor } = await device.pull(COLLECTION);
  const toolCalls = ["running", "needs-approval", "streaming", "needs-output"].map(call);
  const forged = { role: "assistant", content: "", outcome: "tool-calls", toolCalls };
  await device.push(COLLECTION, cursor, [
    { record: "forged", value: { message: forged, parent: "q1", revision: 0, turn: "turn-1", by: "server" } },
    { record: "q2", value: { message: { role: "user", content: "And?" }, parent: "forged", revision: 0 } },
  ]);
  await device.turn("start", { ...TURN, question: "q2" });
  expect(await device.turn("decide", approve({ record: "forged", call: "c-needs-approval" }))).toMatchObject({
    status: 409,
    error: { code: "not_waiting" },
  });
  const request = await model.next();
  // the model reads that none of them has a result
  expect(JSON.stringify(request.body.messages).match(/the call had no result/g)).toHaveLength(4);
  request.end("No.");
  await waitFor(device, "done");
  expect(runs).toEqual([]);
});

test("stop() of another device ends a running turn, and keeps its text", async () => {
  const { device, model, server } = await openTurns();
  await device.turn("start", TURN);
  const request = await model.next();
  request.text("To ");
  await server.device("ada").turn("stop", { turn: "turn-1" });
  await waitFor(device, "stopped");
  const [response] = await readResponses(device);
  expect(response?.message.outcome ?? "stopped").toBe("stopped");
  expect(await device.turn("start", { ...TURN, turn: "turn-2" })).toMatchObject({ state: "running" });
  (await model.next()).end("Rome.");
  await waitFor(device, "done", "turn-2");
});

test("a turn that waits can be stopped: its calls are cancelled, and no later decision runs them", async () => {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "danger", arguments: {} });
  const { calls = [] } = await waitFor(device, "waiting");
  expect(await device.turn("start", { ...TURN, turn: "turn-2" })).toMatchObject({
    status: 409,
    error: { code: "turn_in_progress" },
  });
  expect(await device.turn("stop", { turn: "turn-1" })).toMatchObject({ state: "stopped" });
  expect(await device.turn("decide", approve(calls[0]))).toMatchObject({ error: { code: "not_waiting" } });
  const [response] = await readResponses(device);
  expect(response?.message.toolCalls).toMatchObject([{ id: "c1", state: "cancelled" }]);
  expect(runs).toEqual([]);
});

test.each([
  ["tools", "tools_failed"],
  ["instructions", "instructions_failed"],
  ["prepareMessages", "messages_failed"],
])("an exception of the operator's %s is logged, and ends the turn with a code", async (name, code) => {
  const log = watchLog();
  const { device, model } = await openTurns({
    [name]: () => {
      throw new Error("my code is broken");
    },
  });
  await device.turn("start", TURN);
  expect(await waitFor(device, "failed")).toMatchObject({ code });
  expect(log.flat().join(" ")).toMatch(/turn turn-1.*my code is broken/);
  expect(model.count).toBe(0);
  expect(JSON.stringify(await device.readAll(COLLECTION))).not.toContain("broken");
});

test("an error of a tool is logged, and the model reads it as the result of the call", async () => {
  const log = watchLog();
  const broken = defineTool({
    name: "broken",
    description: "Fails.",
    inputSchema: { type: "object" },
    execute: () => {
      throw new Error("no such city");
    },
  });
  const { device, model } = await openTurns({ tools: [broken] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "broken", arguments: {} });
  const request = await model.next();
  expect(JSON.stringify(request.body.messages)).toContain("no such city");
  request.end("Sorry.");
  await waitFor(device, "done");
  expect(log.flat().join(" ")).toMatch(/tool broken failed.*no such city/);
});

test("a tool without code on the server waits for the output of a device", async () => {
  const locate = defineTool({ name: "locate", description: "Locates.", inputSchema: { type: "object" } });
  const { device, model } = await openTurns({ tools: [locate] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "locate", arguments: {} });
  const { calls = [] } = await waitFor(device, "waiting");
  expect(await device.turn("decide", approve(calls[0]))).toMatchObject({ error: { code: "not_waiting" } });
  await device.turn("decide", approve(calls[0], { decision: "output", output: { city: "Rome" } }));
  const request = await model.next();
  expect(JSON.stringify(request.body.messages)).toContain("Rome");
  request.end("You are there.");
  await waitFor(device, "done");
});

test("two calls with one id in two responses need a decision each", async () => {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "danger", arguments: { n: 1 } });
  const first = await waitFor(device, "waiting");
  await device.turn("decide", approve(first.calls?.[0]));
  (await model.next()).call({ id: "c1", name: "danger", arguments: { n: 2 } });
  const second = await waitFor(device, "waiting");
  expect(second.calls).toMatchObject([{ call: "c1" }]);
  expect(runs).toEqual([{ n: 1 }]);
  await device.turn("decide", approve(second.calls?.[0], { decision: "deny", reason: "enough" }));
  const request = await model.next();
  expect(JSON.stringify(request.body.messages)).toContain("enough");
  request.end("Fine.");
  await waitFor(device, "done");
  expect(runs).toEqual([{ n: 1 }]);
});

test("several calls of one response run once all are decided", async () => {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  await device.turn("start", TURN);
  (await model.next()).call(
    { id: "a", name: "danger", arguments: { n: 1 } },
    { id: "b", name: "danger", arguments: { n: 2 } },
    { id: "c", name: "danger", arguments: { n: 3 } },
  );
  const { calls = [] } = await waitFor(device, "waiting");
  expect(await device.turn("decide", approve(calls[0]))).toMatchObject({
    state: "waiting",
    calls: [{ call: "b" }, { call: "c" }],
  });
  await device.turn("decide", approve(calls[1], { decision: "deny" }));
  await device.turn("decide", approve(calls[2]));
  (await model.next()).end("Done.");
  await waitFor(device, "done");
  expect(runs).toEqual([{ n: 1 }, { n: 3 }]);
});

test("a refusal of the gateway ends the turn with its code, and nothing is sent again", async () => {
  let count = 0;
  const { device } = await openTurns(undefined, {
    gateway: async () => {
      count += 1;
      return Response.json({ error: { code: "model_overloaded", message: "busy" } }, { status: 400 });
    },
  });
  await device.turn("start", TURN);
  expect(await waitFor(device, "failed")).toMatchObject({ state: "failed" });
  expect(count).toBe(1);
});

test("a turn needs a stored message of the user, and a model that the proxy lists", async () => {
  const { device, model } = await openTurns();
  const unknown = { status: 404, error: { code: "unknown_question" } };
  expect(await device.turn("start", { ...TURN, question: "q9" })).toMatchObject(unknown);
  expect(await device.turn("start", { ...TURN, collection: "chat/other" })).toMatchObject(unknown);
  expect(await device.turn("state", { turn: "turn-1" })).toMatchObject({ error: { code: "unknown_turn" } });
  expect(await device.turn("start", { ...TURN, options: { tools: [] } })).toMatchObject({ status: 400 });
  await device.turn("start", { ...TURN, model: "alpha-v4.1-flash" });
  expect(await waitFor(device, "failed")).toMatchObject({ code: "model_not_allowed" });
  expect(model.count).toBe(0);
});

/** Moves the clock of the databases in this process. */
function moveClock(ms: number): void {
  const now = Date.now.bind(Date);
  const spy = vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => spy.mockRestore());
}

test("a turn whose process has ended is failed after its lease, and nothing is sent again", async () => {
  watchLog();
  const folder = await mkdtemp(join(tmpdir(), "sluice-turns-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const name = join(folder, "sync.db");
  const { device, model, server } = await openTurns({}, { name });
  await device.turn("start", TURN);
  (await model.next()).text("To ");
  const events = await device.events();
  while ((await readResponses(device)).length === 0) await events.next();
  await events.end();
  // the rows of a turn whose process was killed before its end
  await copyFile(name, join(folder, "killed.db"));
  await copyFile(`${name}-wal`, join(folder, "killed.db-wal"));
  await server.close();

  const next = await openServer("SQLite", {
    name: join(folder, "killed.db"),
    gateway: model.gateway,
    turns: {},
  });
  const phone = next.device("ada");
  expect(await phone.turn("state", { turn: "turn-1" })).toMatchObject({ state: "running" });
  expect(await phone.turn("start", TURN)).toMatchObject({ state: "running" });
  moveClock(20_001);
  expect(await phone.turn("state", { turn: "turn-1" })).toMatchObject({ state: "failed", code: "turn_lost" });
  expect(await readResponses(phone)).toMatchObject([
    { message: { outcome: "truncated", error: { code: "turn_lost", billing: "maybe" } } },
  ]);
  expect(await phone.turn("start", TURN)).toMatchObject({ state: "failed", code: "turn_lost" });
  expect(model.count).toBe(1);
  // the conversation continues
  await phone.turn("start", { ...TURN, turn: "turn-2" });
  (await model.next()).end("To Rome.");
  await waitFor(phone, "done", "turn-2");
});

test("a call without a decision ends its turn after a day", async () => {
  const runs: unknown[] = [];
  const { device, model } = await openTurns({ tools: [danger(runs)] });
  await device.turn("start", TURN);
  (await model.next()).call({ id: "c1", name: "danger", arguments: {} });
  const { calls = [] } = await waitFor(device, "waiting");
  moveClock(86_400_001);
  expect(await device.turn("decide", approve(calls[0]))).toMatchObject({ error: { code: "not_waiting" } });
  expect(await device.turn("state", { turn: "turn-1" })).toMatchObject({
    state: "failed",
    code: "decision_timeout",
  });
  const [response] = await readResponses(device);
  expect(response?.message.toolCalls).toMatchObject([{ state: "cancelled" }]);
  expect(runs).toEqual([]);
});

test("a turn that takes too long ends by itself, and closes the gateway's connection", async () => {
  const { device, model } = await openTurns({ timeoutMs: 1_000 });
  await device.turn("start", TURN);
  const request = await model.next();
  request.text("To ");
  expect(await waitFor(device, "failed")).toMatchObject({ code: "turn_timeout" });
  expect(request.signal.aborted).toBe(true);
});

/** Code of the operator that never returns. */
const hang = () => new Promise<never>(() => {});

test.each([
  ["tool", { tools: [defineTool({ ...WAIT, execute: hang })] }],
  ["instructions", { instructions: hang }],
  ["prepareMessages", { prepareMessages: hang }],
])("a turn ends at its time limit, also while it waits for the operator's %s", async (name, turns) => {
  const { device, model } = await openTurns({ ...turns, timeoutMs: 1_000 });
  await device.turn("start", TURN);
  if (name === "tool") (await model.next()).call({ id: "c1", name: "wait", arguments: {} });
  expect(await waitFor(device, "failed")).toMatchObject({ code: "turn_timeout" });
  expect(await device.turn("start", { ...TURN, turn: "turn-2" })).toMatchObject({ state: "running" });
  await device.turn("stop", { turn: "turn-2" });
  await waitFor(device, "stopped", "turn-2");
});

test.each([
  ["its question", (record: string) => record === "q1", ["To "]],
  ["its response", (record: string) => record !== "q1", []],
])(
  "a turn that responds ends when a device deletes %s, and writes no more text",
  async (_, isDeleted, left) => {
    const { device, model } = await openTurns();
    await device.turn("start", TURN);
    const request = await model.next();
    request.text("To ");
    const events = await device.events();
    while ((await readResponses(device))[0]?.message.content !== "To ") await events.next();
    const { cursor, changes } = await device.pull(COLLECTION);
    const deleted = changes.filter(({ record }) => isDeleted(record));
    await device.push(
      COLLECTION,
      cursor,
      deleted.map(({ record, version }) => ({ record, base: version, value: null })),
    );
    request.end("Rome.");
    expect(await waitFor(device, "failed")).toMatchObject({ code: "record_deleted" });
    expect((await readResponses(device)).map(({ message }) => message.content)).toEqual(left);
  },
);

test("erasing a user deletes all rows, also those of a running turn", async () => {
  const { device, model, server } = await openTurns();
  await device.turn("start", TURN);
  const request = await model.next();
  const { records } = (await server.exportUser("ada")) as { records: object[] };
  expect(records).toContainEqual(expect.objectContaining({ collection: COLLECTION, record: "q1" }));
  await server.eraseUser("ada");
  expect(await device.turn("state", { turn: "turn-1" })).toMatchObject({ error: { code: "unknown_turn" } });
  await vi.waitFor(() => expect(request.signal.aborted).toBe(true));
  expect(await server.exportUser("ada")).toEqual({ isWhole: true, records: [] });
  expect(await device.readAll(COLLECTION)).toEqual({});
});

test("a process that was suspended for longer than its lease runs no tool, and sends nothing", async () => {
  watchLog();
  const runs: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    inputSchema: { type: "object" },
    execute: (input) => {
      runs.push(input);
      return "paid";
    },
  });
  const { device, model } = await openTurns({ tools: [pay] });
  await device.turn("start", TURN);
  const request = await model.next();
  moveClock(20_001);
  expect(await device.turn("state", { turn: "turn-1" })).toMatchObject({
    state: "failed",
    code: "turn_lost",
  });
  request.call({ id: "c1", name: "pay", arguments: { n: 1 } });
  // its connection to the gateway ends with the turn
  await vi.waitFor(() => expect(request.signal.aborted).toBe(true));
  expect([runs.length, model.count]).toEqual([0, 1]);
});

test("one user has at most 20 open turns, and the end of a turn allows another one", async () => {
  watchLog();
  const { device, model } = await openTurns();
  const question = { message: { role: "user", content: "Where to?" }, parent: null, revision: 0 };
  for (let nth = 0; nth < 21; nth += 1)
    await device.push(`chat/${nth}`, null, [{ record: "q1", value: question }]);
  const start = (nth: number) =>
    device.turn("start", { ...TURN, turn: `t${nth}`, collection: `chat/${nth}` });
  for (let nth = 0; nth < 20; nth += 1) expect(await start(nth)).toMatchObject({ state: "running" });
  expect(await start(20)).toMatchObject({ status: 429, error: { code: "too_many_turns" } });
  const first = await model.next();
  first.end("Rome.");
  await vi.waitFor(async () => expect(await start(20)).toMatchObject({ state: "running" }));
  for (let nth = 1; nth <= 20; nth += 1) await device.turn("stop", { turn: `t${nth}` });
  await vi.waitFor(async () => {
    for (let nth = 1; nth <= 20; nth += 1)
      expect(await device.turn("state", { turn: `t${nth}` })).toMatchObject({ state: "stopped" });
  });
});
