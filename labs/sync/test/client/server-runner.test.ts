import { createChatStore, signOut } from "@sluice/stores";
import { serverRunner } from "@sluice/sync";
import { expect, test } from "vitest";
import { createDevice, settle } from "./support/device.js";
import { createSyncServer, refuse, type SyncRequest } from "./support/sync-server.js";

type Server = ReturnType<typeof createSyncServer>;
type Turn = Record<string, unknown>;

const marks = { "x-sluice-features": "sync", "x-sluice-account": "account-of-ada" };
const respond = (json: object) => Response.json(json, { headers: marks });

/** Adds turns to a server. The tests write their messages. */
function runTurns(server: Server) {
  const states = new Map<string, Turn>();
  const requests: { readonly action: string; readonly body: SyncRequest["body"] }[] = [];
  server.script = ({ path, body }) => {
    if (!path.startsWith("turns/")) return undefined;
    const action = path.slice("turns/".length);
    requests.push({ action, body });
    if (action === "start" && !states.has(body.turn)) states.set(body.turn, { state: "running" });
    if (!states.has(body.turn)) return refuse(404, "unknown_turn", marks);
    if (action === "stop") states.set(body.turn, { state: "stopped" });
    if (action === "decide") states.set(body.turn, { state: "running" });
    return respond({ turn: body.turn, ...states.get(body.turn) });
  };
  const getTurn = () => requests.findLast(({ action }) => action === "start")?.body;
  return {
    requests,
    states,
    getTurn,
    list: (action: string) => requests.filter((request) => request.action === action).map(({ body }) => body),
    /** Writes a message of the last turn. */
    write(content: string, more: object = {}, revision = 0) {
      const { turn, question, collection } = getTurn();
      const message = { id: "r", role: "assistant", content, createdAt: 2, ...more };
      server.set("ada", collection, { r: { message, parent: question, revision, turn } });
    },
  };
}

function openChat(device: ReturnType<typeof createDevice>) {
  const { client, storage } = device.openTab();
  const runner = serverRunner({ device: "phone" });
  const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage, runner });
  chat.subscribe(() => {});
  return { chat, client, storage };
}

function start() {
  const server = createSyncServer();
  const turns = runTurns(server);
  const device = createDevice(server);
  return { server, turns, device, ...openChat(device) };
}

test("A turn runs on the server, and its response grows in the chat", async () => {
  const { turns, chat, device } = start();
  const sent = chat.send("Hello");
  await settle();
  expect(turns.getTurn()).toMatchObject({ collection: "chat/trip", model: "delta-5.3" });
  expect(chat.getSnapshot().status).toBe("submitted");
  turns.write("Hi");
  await settle();
  expect(chat.getSnapshot()).toMatchObject({
    status: "streaming",
    messages: [{ role: "user" }, { content: "Hi" }],
  });
  turns.states.set(turns.getTurn().turn, { state: "done" });
  turns.write("Hi!", { outcome: "complete" }, 1);
  await settle();
  expect(await sent).toMatchObject({
    outcome: "complete",
    messages: [{ content: "Hello" }, { content: "Hi!" }],
  });
  expect(chat.getSnapshot().status).toBe("ready");
  await device.clock.advance(60_000);
  expect(turns.list("start").length).toBe(1);
});

test("A reload shows the running turn and its end, without another turn", async () => {
  const { turns, device, chat } = start();
  void chat.send("Hello");
  await settle();
  turns.write("Hi");
  await settle();
  chat.close();
  const { chat: again } = openChat(device);
  await settle();
  expect(again.getSnapshot()).toMatchObject({ status: "streaming", messages: [{}, { content: "Hi" }] });
  turns.states.set(turns.getTurn().turn, { state: "done" });
  turns.write("Hi!", { outcome: "complete" }, 1);
  await settle();
  expect(again.getSnapshot()).toMatchObject({ status: "ready", messages: [{}, { content: "Hi!" }] });
  expect(turns.states.size).toBe(1);
});

test("stop() ends a turn at once, and tells the server", async () => {
  const { turns, chat } = start();
  const sent = chat.send("Hello");
  await settle();
  turns.write("Hi");
  await settle();
  chat.stop();
  expect(chat.getSnapshot().status).toBe("ready");
  expect((await sent).outcome).toBe("stopped");
  await settle();
  expect(turns.list("stop")).toEqual([{ turn: turns.getTurn().turn }]);
});

test("The state of a turn is requested after 10 s of silence, and a lost turn ends", async () => {
  const { turns, chat, device } = start();
  const sent = chat.send("Hello");
  await settle();
  turns.write("Hi");
  await settle();
  await device.clock.advance(20_000);
  expect(turns.list("state").length).toBeGreaterThan(0);
  turns.states.set(turns.getTurn().turn, {
    state: "failed",
    code: "turn_lost",
    message: "the turn was lost",
  });
  await device.clock.advance(20_000);
  expect(await sent).toMatchObject({ outcome: "error", error: { code: "turn_lost" } });
  expect(chat.getSnapshot().status).toBe("error");
});

/** Responses of a captive portal, and of another server with the header of the sync server. */
const portals: readonly [string, () => Response][] = [
  ["a page of HTML", () => new Response("<!doctype html>")],
  ["status 204", () => new Response(null, { status: 204 })],
  ["another JSON", () => respond({})],
];

test.each(portals)(
  "A start that a captive portal responds to with %s does not hang, and a retry runs the turn once",
  async (_, portal) => {
    const { server, turns, chat, device } = start();
    await settle();
    const script = server.script;
    server.script = (request) => (request.path === "turns/start" ? portal() : script(request));
    const sent = chat.send("Hello");
    await settle();
    await device.clock.advance(60_000);
    expect((await sent).outcome).toBe("truncated");
    expect(chat.getSnapshot().status).toBe("error");
    server.script = script;
    void chat.retry();
    await settle();
    const ids = server.requests.filter(({ path }) => path === "turns/start").map(({ body }) => body.turn);
    expect(new Set(ids).size).toBe(1);
    expect(turns.states.size).toBe(1);
  },
);

test.each(portals)(
  "A turn does not end on its device because a captive portal responds with %s to the request of its state",
  async (_, portal) => {
    const { server, turns, chat, device } = start();
    const sent = chat.send("Hello");
    await settle();
    const script = server.script;
    server.script = (request) => (request.path === "turns/state" ? portal() : script(request));
    await device.clock.advance(15_000);
    expect(chat.getSnapshot().status).toBe("submitted");
    server.script = script;
    turns.states.set(turns.getTurn().turn, { state: "done" });
    turns.write("Hi", { outcome: "complete" });
    await device.clock.advance(15_000);
    expect((await sent).outcome).toBe("complete");
  },
);

test("A question below a message that the server refuses starts no turn", async () => {
  const { server, turns, chat, storage } = start();
  const big = { id: "big", role: "user", content: "x".repeat(1_000_001), createdAt: 1 };
  await storage.write('"ada"/chat/trip', new Map([["big", { message: big, parent: null, revision: 0 }]]));
  await settle();
  expect(await chat.send("And?")).toMatchObject({ error: { code: "record_too_large" } });
  expect([turns.list("start").length, server.list("ada", "chat/trip").size]).toEqual([0, 0]);
});

test.each([
  ["question", "push"],
  ["start", "turns/start"],
  ["state", "turns/state"],
])("stop() ends a turn whose %s gets no response", async (_, silent) => {
  const { server, chat, device } = start();
  await settle();
  const script = server.script;
  server.script = (request) => (request.path === silent ? new Promise(() => {}) : script(request));
  const sent = chat.send("Hello");
  await settle();
  // after 10 s without a change, the client requests the state
  await device.clock.advance(10_000);
  chat.stop();
  expect((await sent).outcome).toBe("stopped");
  expect(chat.getSnapshot().status).toBe("ready");
});

test("A turn ends on a device that is signed out, and sends no further request", async () => {
  const { server, turns, chat, device } = start();
  const sent = chat.send("Hello");
  await settle();
  turns.write("Hi");
  await settle();
  server.script = () => refuse(401, "unauthorized");
  // the change events of the session end within 45 s
  await device.clock.advance(60_000);
  expect(await sent).toMatchObject({ outcome: "error", error: { code: "signed_out" } });
  const count = server.requests.length;
  await device.clock.advance(86_400_000);
  expect(server.requests.length).toBe(count);
});

test("A start is not sent again before the Retry-After of the server", async () => {
  const { server, chat, device } = start();
  await settle();
  const starts: number[] = [];
  const script = server.script;
  server.script = (request) => {
    if (request.path !== "turns/start") return script(request);
    starts.push(device.clock.now());
    return starts.length === 1 ? refuse(503, "busy", { ...marks, "retry-after": "20" }) : script(request);
  };
  void chat.send("Hello");
  await settle();
  await device.clock.advance(19_999);
  expect(starts.length).toBe(1);
  await device.clock.advance(1);
  await settle();
  expect(starts.length).toBe(2);
});

/** Starts a turn whose call waits for an approval. */
async function startWaiting() {
  const started = start();
  const { turns, chat } = started;
  void chat.send("Send it");
  await settle();
  const call = { id: "c1", name: "send_mail", arguments: "{}", input: {}, state: "needs-approval" };
  turns.states.set(turns.getTurn().turn, { state: "waiting" });
  turns.write("", { outcome: "tool-calls", toolCalls: [call] }, 1);
  await settle();
  return { ...started, call };
}

test("An approval goes to the server, which continues the turn", async () => {
  const { turns, chat, call } = await startWaiting();
  expect(chat.getSnapshot()).toMatchObject({
    status: "requires-action",
    pendingActions: [{ toolCallId: "c1" }],
  });
  const approved = chat.approve("c1");
  await settle();
  expect(turns.list("decide")).toEqual([
    { turn: turns.getTurn().turn, record: "r", call: "c1", decision: "approve", device: "phone" },
  ]);
  turns.states.set(turns.getTurn().turn, { state: "done" });
  turns.write("Sent", { outcome: "complete", toolCalls: [{ ...call, state: "done", output: "ok" }] }, 2);
  await settle();
  expect((await approved).outcome).toBe("complete");
  expect(chat.getSnapshot().status).toBe("ready");
});

test.each<[string, () => Response | Promise<never>]>([
  ["no response", () => new Promise<never>(() => {})],
  ...portals,
])("An approval that gets %s ends after a minute, and may be given again", async (_, portal) => {
  const { server, turns, chat, device } = await startWaiting();
  const script = server.script;
  server.script = (request) => (request.path === "turns/decide" ? portal() : script(request));
  const approved = chat.approve("c1");
  await settle();
  await device.clock.advance(60_000);
  expect(await approved).toMatchObject({ error: { name: "SyncError", kind: "temporary" } });
  expect(chat.getSnapshot().pendingActions).toMatchObject([{ toolCallId: "c1" }]);
  server.script = script;
  void chat.approve("c1");
  await settle();
  expect(turns.list("decide").length).toBe(1);
});

test("signOut stops no turn on the server", async () => {
  const { turns, chat, client } = start();
  void chat.send("Hello");
  await settle();
  turns.write("Hi");
  await settle();
  await signOut(client);
  await settle();
  expect(turns.list("stop")).toEqual([]);
});

test("A chat without a remoteStorage says what is missing", async () => {
  const { client } = createDevice(createSyncServer()).openTab();
  const chat = createChatStore(client, { id: "trip", model: "delta-5.3", runner: serverRunner() });
  expect(await chat.send("Hello")).toMatchObject({
    outcome: "not-sent",
    error: { message: expect.stringContaining("remoteStorage()") },
  });
});
