import { createChatStore, signOut } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createDevice, message, settle } from "./support/device.js";
import { createSyncServer, refuse } from "./support/sync-server.js";

describe("A conversation on two devices", () => {
  test("shows on each device what the other one writes", async () => {
    const server = createSyncServer();
    const phone = createDevice(server).openTab();
    const laptop = createDevice(server).openTab();
    const onPhone = await phone.show("chat/trip");
    const onLaptop = await laptop.show("chat/trip");
    await settle();
    await phone.write("chat/trip", { a: message("a") });
    await settle();
    expect([...onLaptop]).toEqual([["a", message("a")]]);
    await laptop.write("chat/trip", { b: message("b", "a"), a: undefined });
    await settle();
    expect([...onPhone]).toEqual([["b", message("b", "a")]]);
    expect(phone.storage.status.getSnapshot()).toEqual({ status: "saved", pending: 0 });
  });

  test("sends what was written offline when the server can be reached, after a reload too", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    server.script = () => Promise.reject(new TypeError("offline"));
    const tab = device.openTab();
    await tab.show("chat/trip");
    await tab.write("chat/trip", { a: message("a") });
    await settle();
    expect(tab.storage.status.getSnapshot()).toMatchObject({
      pending: 1,
      error: { code: "connection_failed" },
    });
    server.script = () => undefined;
    await device.clock.advance(1000);
    await settle();
    expect(server.list("ada", "chat/trip").get("a")).toEqual(message("a"));
    expect(tab.storage.status.getSnapshot()).toEqual({ status: "saved", pending: 0 });
  });

  test("keeps a response in flight on its device until it has ended", async () => {
    const server = createSyncServer();
    const tab = createDevice(server).openTab();
    await tab.write("chat/trip", { q: message("q"), r: message("", "q", { role: "assistant" }) });
    await settle();
    expect([...server.list("ada", "chat/trip").keys()]).toEqual(["q"]);
    const end = message("done", "q", { role: "assistant", outcome: "complete" }, 1);
    await tab.write("chat/trip", { r: end });
    await settle();
    expect(server.list("ada", "chat/trip").get("r")).toEqual(end);
  });

  test("merges changes that both devices made to one record", async () => {
    const server = createSyncServer();
    const a = createDevice(server);
    const [one, two] = [a.openTab(), createDevice(server).openTab()];
    const [shownOne, shownTwo] = [await one.show("conversations"), await two.show("conversations")];
    await one.write("conversations", { trip: { title: "Trip", revision: 1 } });
    await settle();
    a.session = undefined;
    await one.write("conversations", { trip: { title: "Paris", revision: 2 } });
    await two.write("conversations", { trip: { title: "Rome", revision: 3 } });
    await settle();
    a.session = "ada";
    one.storage.retryNow();
    await settle();
    expect([shownOne.get("trip"), shownTwo.get("trip")]).toEqual(
      Array(2).fill({ title: "Rome", revision: 3 }),
    );
  });
});

test("A message stays if one device finishes it and another device, which shows it unfinished, removes it", async () => {
  const server = createSyncServer();
  const phone = createDevice(server);
  const [one, two] = [phone.openTab(), createDevice(server).openTab()];
  const shown = await one.show("chat/trip");
  await two.show("chat/trip");
  await one.write("chat/trip", { a: message("a") });
  await settle();
  phone.session = undefined;
  await one.write("chat/trip", { a: undefined });
  await settle();
  const changed = message("a", null, { content: "a, and more" }, 1);
  await two.write("chat/trip", { a: changed });
  await settle();
  phone.session = "ada";
  one.storage.retryNow();
  await settle();
  expect(server.list("ada", "chat/trip").get("a")).toEqual(changed);
  expect(shown.get("a")).toEqual(changed);
});

describe("Another user", () => {
  test("reads and writes nothing of an open tab of the previous user", async () => {
    const server = createSyncServer();
    server.set("bob", "conversations", { diary: { title: "Bob's diary" } });
    const browser = createDevice(server);
    const tab = browser.openTab("ada");
    const shown = await tab.show("conversations");
    await tab.write("conversations", { tax: { title: "Ada's tax" } });
    await settle();
    browser.session = "bob";
    await tab.write("conversations", { therapy: { title: "Ada's therapy" } });
    await settle();
    expect(tab.storage.status.getSnapshot()).toMatchObject({
      pending: 1,
      error: { code: "account_changed" },
    });
    await browser.clock.advance(3_600_000);
    expect([...server.list("bob", "conversations").keys()]).toEqual(["diary"]);
    expect([...shown.keys()]).toEqual(["tax", "therapy"]);
    browser.session = "ada";
    tab.storage.retryNow();
    await settle();
    expect([...server.list("ada", "conversations").keys()]).toEqual(["tax", "therapy"]);
    expect(tab.storage.status.getSnapshot()).toEqual({ status: "saved", pending: 0 });
  });

  test.each([
    ["after each other", true],
    ["at once", false],
  ])("gets nothing and gives nothing in any order of sign-ins, tabs and writes, %s", async (_, isSettled) => {
    for (const order of permute(["bob", "nobody", "tab", "write"] as const)) {
      const server = createSyncServer();
      server.set("bob", "conversations", { diary: { title: "Bob's diary" } });
      const browser = createDevice(server, "bob");
      const tabs = [browser.openTab("ada")];
      const shown = [await tabs[0]?.show("conversations")];
      for (const event of order) {
        if (event === "tab") {
          const tab = browser.openTab("ada");
          tabs.push(tab);
          shown.push(await tab.show("conversations"));
        } else if (event === "write") await tabs.at(-1)?.write("conversations", { tax: { title: "Tax" } });
        else browser.session = event === "nobody" ? undefined : event;
        if (event !== "write") tabs[0]?.storage.retryNow();
        if (isSettled) await settle();
      }
      await settle();
      expect([...server.list("bob", "conversations").keys()], order.join()).toEqual(["diary"]);
      browser.session = "ada";
      tabs[0]?.storage.retryNow();
      await settle();
      expect([...server.list("ada", "conversations").keys()], order.join()).toEqual(["tax"]);
      for (const each of shown) expect([...(each?.keys() ?? [])], order.join()).toEqual(["tax"]);
      for (const { storage } of tabs) await storage.clear?.("");
    }
  });
});

/** Lists the items in every order. */
function permute<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((item) =>
    permute(items.filter((each) => each !== item)).map((others) => [item, ...others]),
  );
}

test("A response that names another account is not used, whatever its status", async () => {
  const server = createSyncServer();
  const device = createDevice(server);
  const tab = device.openTab();
  const shown = await tab.show("conversations");
  await settle();
  const headers = { "x-sluice-features": "sync", "x-sluice-account": "account-of-bob" };
  const changes = [{ record: "diary", version: 9, value: { title: "Bob's diary" } }];
  server.script = ({ path }) =>
    path === "pull" ? Response.json({ changes, cursor: "9.x", hasMore: false }, { headers }) : undefined;
  await tab.show("chat/trip");
  await settle();
  expect(tab.storage.status.getSnapshot()).toMatchObject({ error: { code: "account_changed" } });
  expect(shown.size).toBe(0);
  expect((await tab.read("chat/trip")).size).toBe(0);
});

/** Sends no response. */
const hang = () => new Promise<never>(() => {});

describe("A captive portal that responds with", () => {
  const portals: readonly [string, () => Response][] = [
    ["a page of HTML", () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } })],
    ["status 204", () => new Response(null, { status: 204 })],
    ["another JSON", () => Response.json({})],
  ];

  test.each(portals)("%s confirms no write and no deletion: both are sent again", async (_, respond) => {
    const server = createSyncServer();
    const device = createDevice(server);
    const tab = device.openTab();
    await tab.write("chat/trip", { a: message("a") });
    await settle();
    server.script = respond;
    await tab.write("chat/trip", { a: undefined, b: message("b") });
    await settle();
    expect(tab.storage.status.getSnapshot()).toMatchObject({
      pending: 2,
      error: { code: "not_sync_server" },
    });
    server.script = () => undefined;
    await device.clock.advance(1000);
    await settle();
    expect([...server.list("ada", "chat/trip").keys()]).toEqual(["b"]);
  });

  test.each(portals)("%s does not empty a conversation that a device reads", async (_, respond) => {
    const server = createSyncServer();
    const device = createDevice(server);
    server.set("ada", "chat/trip", { a: message("a") });
    const tab = device.openTab();
    const shown = await tab.show("chat/trip");
    await settle();
    server.script = respond;
    const synced = tab.storage.sync("chat/trip");
    await expect(synced).rejects.toMatchObject({ kind: "temporary", code: "not_sync_server" });
    expect([...shown.keys()]).toEqual(["a"]);
    server.set("ada", "chat/trip", { b: message("b", "a") });
    server.script = () => undefined;
    await device.clock.advance(1000);
    await settle();
    expect([...shown.keys()]).toEqual(["a", "b"]);
  });
});

describe("The client", () => {
  test("sends nothing for the time in a Retry-After", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    server.script = () => refuse(503, "busy", { "retry-after": "3600" });
    const tab = device.openTab();
    await tab.write("chat/trip", { a: message("a") });
    await settle();
    await device.clock.advance(3_599_000);
    expect(server.requests.length).toBe(1);
    await device.clock.advance(1000);
    await settle();
    expect(server.requests.length).toBe(2);
  });

  test.each([
    ["end at once", ": nothing\n\n", "stream_ended"],
    ["are refused", 'event: failed\ndata: {"code":"too_many_connections"}\n\n', "too_many_connections"],
  ])("does not request change events every second if they %s", async (_, text, code) => {
    const server = createSyncServer();
    const device = createDevice(server);
    const headers = {
      "x-sluice-features": "sync",
      "x-sluice-account": "account-of-ada",
      "content-type": "text/event-stream",
    };
    server.script = ({ path }) => (path === "events" ? new Response(text, { headers }) : undefined);
    const tab = device.openTab();
    await tab.write("chat/trip", { a: message("a") });
    await settle();
    await device.clock.advance(3_600_000);
    expect(server.requests.filter(({ path }) => path === "events").length).toBeLessThan(30);
    expect(tab.storage.status.getSnapshot()).toMatchObject({ pending: 0, error: { code } });
  });

  test("ends sync() after 30 s without a response, and sends the change again", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    server.script = hang;
    const tab = device.openTab();
    await tab.write("chat/trip", { a: message("a") });
    const synced = tab.storage.sync("chat/trip").catch((error: unknown) => error);
    await settle();
    await device.clock.advance(30_000);
    await settle();
    expect(await synced).toMatchObject({ kind: "temporary", code: "timeout" });
    expect(tab.storage.status.getSnapshot()).toMatchObject({ pending: 1, error: { code: "timeout" } });
    server.script = () => undefined;
    await device.clock.advance(1000);
    await settle();
    expect([...server.list("ada", "chat/trip").keys()]).toEqual(["a"]);
  });

  test("sends nothing after the session is signed out, until the app calls retryNow()", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    device.session = undefined;
    const tab = device.openTab();
    await tab.write("chat/trip", { a: message("a") });
    await settle();
    await device.clock.advance(86_400_000);
    expect(server.requests.length).toBe(1);
    expect(tab.storage.status.getSnapshot()).toMatchObject({ pending: 1, error: { code: "signed_out" } });
    device.session = "ada";
    tab.storage.retryNow();
    await settle();
    expect(server.list("ada", "chat/trip").size).toBe(1);
  });
});

describe("A server that was restored from a backup", () => {
  test("gets its lost records back from a device, and all devices show the same", async () => {
    const server = createSyncServer();
    const devices = [createDevice(server), createDevice(server)] as const;
    const [one, two] = [devices[0].openTab(), devices[1].openTab()];
    const [shownOne, shownTwo] = [await one.show("chat/trip"), await two.show("chat/trip")];
    await one.write("chat/trip", { a: message("a") });
    await settle();
    const restore = server.backUp();
    await one.write("chat/trip", { b: message("b", "a") });
    await settle();
    restore();
    // the other device comes first, and writes as many versions as were lost
    for (const key of ["c", "d", "e"]) await two.write("chat/trip", { [key]: message(key, "a") });
    await settle();
    await one.write("chat/trip", { f: message("f", "b") });
    for (const { clock } of devices) await clock.advance(5000);
    await settle();
    const stored = Object.fromEntries(server.list("ada", "chat/trip"));
    expect(Object.keys(stored).sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
    expect([Object.fromEntries(shownOne), Object.fromEntries(shownTwo)]).toEqual([stored, stored]);
  });

  test("does not replace a newer title by an older one that a device has", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const tab = device.openTab();
    const shown = await tab.show("conversations");
    await tab.write("conversations", { trip: { title: "Trip", revision: 1 } });
    await settle();
    server.backUp()();
    server.set("ada", "conversations", { trip: { title: "Paris", revision: 2 } });
    tab.storage.retryNow();
    await tab.write("conversations", { other: { title: "Other", revision: 1 } });
    await settle();
    expect(server.list("ada", "conversations").get("trip")).toEqual({ title: "Paris", revision: 2 });
    expect(shown.get("trip")).toEqual({ title: "Paris", revision: 2 });
  });
});

describe("A record that the server refuses", () => {
  test("holds back only the messages below it, and is sent again after a change", async () => {
    const server = createSyncServer();
    const tab = createDevice(server).openTab();
    await tab.write("chat/trip", {
      big: message("big", null, { content: "x".repeat(1_000_001) }),
      below: message("below", "big"),
      further: message("further", "below"),
      beside: message("beside"),
    });
    await settle();
    expect([...server.list("ada", "chat/trip").keys()]).toEqual(["beside"]);
    expect(tab.storage.status.getSnapshot()).toMatchObject({
      status: "error",
      pending: 3,
      error: { code: "record_too_large" },
    });
    expect((await tab.read("chat/trip")).size).toBe(4);
    const count = server.requests.length;
    await tab.write("chat/trip", { more: message("more", "beside") });
    await settle();
    expect(server.requests.length).toBe(count + 1);
    await tab.write("chat/trip", { big: message("big", null, {}, 1) });
    await settle();
    expect(server.list("ada", "chat/trip").size).toBe(5);
    expect(tab.storage.status.getSnapshot()).toEqual({ status: "saved", pending: 0 });
  });

  test("shows the server's record again in all tabs if a server turn wrote it", async () => {
    const server = createSyncServer();
    const own = { ...message("r", null, { role: "assistant", outcome: "complete" }), turn: "t" };
    server.set("ada", "chat/trip", { r: own });
    const device = createDevice(server);
    const [tab, other] = [device.openTab(), device.openTab()];
    const shown = [await tab.show("chat/trip"), await other.show("chat/trip")];
    await settle();
    server.script = ({ path, body }) =>
      path === "push"
        ? Response.json(
            {
              results: [{ record: "r", status: "refused", code: "server_record", version: 1, value: own }],
              cursor: body.cursor,
            },
            { headers: { "x-sluice-features": "sync", "x-sluice-account": "account-of-ada" } },
          )
        : undefined;
    await tab.write("chat/trip", {
      r: message("forged", null, { role: "assistant", outcome: "complete" }, 1),
    });
    await settle();
    expect(shown.map((records) => records.get("r"))).toEqual([own, own]);
    expect(tab.storage.status.getSnapshot()).toEqual({ status: "saved", pending: 0 });
  });

  test("is found even if the server refuses a whole push because of it", async () => {
    const server = createSyncServer();
    const tab = createDevice(server).openTab();
    server.script = ({ path, body }) =>
      path === "push" && JSON.stringify(body).includes("poison") ? refuse(400, "bad_value") : undefined;
    const records = Object.fromEntries(
      Array.from({ length: 20 }, (_, nth) => [`m${nth}`, message(`${nth}`)]),
    );
    await tab.write("chat/trip", { ...records, m7: message("poison") });
    await settle();
    expect(server.list("ada", "chat/trip").size).toBe(19);
    expect(tab.storage.status.getSnapshot()).toMatchObject({ pending: 1, error: { code: "bad_value" } });
  });
});

describe("An id that the server cannot store", () => {
  test.each([["a\0b"], ["\ud800"], ["x".repeat(257)], [""]])(
    "is refused where it is given: %j",
    async (id) => {
      const tab = createDevice(createSyncServer()).openTab();
      await expect(tab.write("chat/trip", { [id]: message("a") })).rejects.toThrow("can't be an id");
      await expect(tab.read(`chat/${id || "\0"}`)).rejects.toThrow("can't be an id");
      expect(() => createChatStore(tab.client, { id: id || "\0", model: "delta-5.3" })).toThrow(
        "id: must have",
      );
    },
  );

  test("may have spaces, emoji and slashes", async () => {
    const server = createSyncServer();
    const tab = createDevice(server).openTab();
    await tab.write("chat/Größe 🧳 /..", { "..": message("a") });
    await settle();
    expect([...server.list("ada", "chat/Größe 🧳 /..").keys()]).toEqual([".."]);
  });
});

describe("Two tabs", () => {
  test("show each other's changes and one status, and one of them syncs", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const [first, second] = [device.openTab(), device.openTab()];
    const [shownFirst, shownSecond] = [await first.show("chat/trip"), await second.show("chat/trip")];
    await settle();
    server.set("ada", "chat/trip", { s: message("s") });
    await second.write("chat/trip", { a: message("a") });
    await first.write("chat/trip", { b: message("b") });
    await settle();
    expect([...shownFirst.keys()].sort()).toEqual(["a", "b", "s"]);
    expect([...shownSecond.keys()].sort()).toEqual(["a", "b", "s"]);
    expect(server.countStreams()).toBe(1);
    device.session = undefined;
    await second.write("chat/trip", { c: message("c") });
    await settle();
    const [status] = [first.storage.status.getSnapshot(), second.storage.status.getSnapshot()];
    expect(status).toMatchObject({ pending: 1, error: { code: "signed_out" } });
    expect(second.storage.status.getSnapshot()).toEqual(status);
  });

  test("continue to sync when the syncing tab is closed", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const [first, second] = [device.openTab(), device.openTab()];
    await first.show("chat/trip");
    const shown = await second.show("chat/trip");
    await settle();
    await first.storage.clear?.("nothing");
    await settle();
    await second.write("chat/trip", { a: message("a") });
    server.set("ada", "chat/trip", { s: message("s") });
    await settle();
    expect([...shown.keys()].sort()).toEqual(["a", "s"]);
    expect(server.list("ada", "chat/trip").size).toBe(2);
  });
});

test("close() of a chat does not cancel a call that waits for an approval", async () => {
  const server = createSyncServer();
  const { client, storage } = createDevice(server).openTab();
  const call = { id: "c", name: "mail", arguments: "{}", input: {}, state: "needs-approval" };
  const waiting = message("r", "q", { role: "assistant", outcome: "tool-calls", toolCalls: [call] });
  server.set("ada", "chat/trip", { q: message("q"), r: waiting });
  const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage });
  const unsubscribe = chat.subscribe(() => {});
  await settle();
  expect(chat.getSnapshot().status).toBe("requires-action");
  chat.close();
  unsubscribe();
  await settle();
  expect(server.list("ada", "chat/trip").get("r")).toEqual(waiting);
});

describe("Signing out", () => {
  test("writes and deletes nothing on the server, with a chat open in two tabs", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const [first, second] = [device.openTab(), device.openTab()];
    const open = ({ client, storage }: typeof first) => {
      const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage });
      chat.subscribe(() => {});
      return chat;
    };
    server.set("ada", "chat/trip", { a: message("a"), b: message("b", "a") });
    const chats = [open(first), open(second)];
    await settle();
    expect(chats.map((chat) => chat.getSnapshot().messages.length)).toEqual([2, 2]);
    const count = server.requests.filter(({ path }) => path === "push").length;
    const signedOut = await signOut(first.client);
    await settle();
    expect(signedOut).toEqual({ unsent: 0, errors: [] });
    expect(server.list("ada", "chat/trip").size).toBe(2);
    expect(server.requests.filter(({ path }) => path === "push").length).toBe(count);
    expect(chats.map((chat) => chat.getSnapshot().messages.length)).toEqual([0, 0]);
    expect((await device.local.read('"ada"/sync/chat/trip')).size).toBe(0);
    expect((await device.local.read('"ada"/sync/state')).size).toBe(0);
  });

  test("ends the sync of a store that is still in use: nothing more is sent or stored", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const tab = device.openTab();
    await tab.show("chat/trip");
    await settle();
    device.session = undefined;
    await tab.write("chat/trip", { a: message("a") });
    const chat = createChatStore(tab.client, { id: "trip", model: "delta-5.3", storage: tab.storage });
    chat.subscribe(() => {});
    await settle();
    expect(chat.getSnapshot().persistence).toMatchObject({ pending: 1, error: { code: "signed_out" } });
    expect(await signOut(tab.client)).toEqual({ unsent: 1, errors: [] });
    device.session = "ada";
    const count = server.requests.length;
    await expect(tab.write("chat/trip", { b: message("b") })).rejects.toThrow("signed out");
    await settle();
    expect(server.requests.length).toBe(count);
    expect((await device.local.read('"ada"/sync/outbox')).size).toBe(0);
  });

  test("keeps two users apart who share the copy of a client without `user`", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const ada = device.openTab(null);
    await ada.show("conversations");
    await ada.write("conversations", { tax: { title: "Ada's tax" } });
    await settle();
    device.session = "bob";
    const early = device.openTab(null);
    await early.show("conversations");
    await early.write("conversations", { diary: { title: "Bob's diary" } });
    await settle();
    expect(server.list("bob", "conversations").size).toBe(0);
    await signOut(early.client, { storages: [early.storage] });
    const bob = device.openTab(null);
    expect((await bob.show("conversations")).size).toBe(0);
    await bob.write("conversations", { diary: { title: "Bob's diary" } });
    await settle();
    expect([...server.list("bob", "conversations").keys()]).toEqual(["diary"]);
    expect([...server.list("ada", "conversations").keys()]).toEqual(["tax"]);
  });
});

describe("A copy", () => {
  test("with a thread of 9,000 messages in any order is sent to a server that has lost it", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    const ids = Array.from({ length: 9_000 }, (_, nth) => `m${nth}`);
    const thread = ids.map((id, nth) => [id, message(id, nth === 0 ? null : `m${nth - 1}`)] as const);
    await device.local.write('"ada"/chat/trip', new Map(thread.reverse()));
    const tab = device.openTab();
    await tab.storage.sync("chat/trip");
    expect(server.list("ada", "chat/trip").size).toBe(9_000);
  });

  test("sends the records that the local storage had before the first sync", async () => {
    const server = createSyncServer();
    const device = createDevice(server);
    await device.local.write('"ada"/chat/trip', new Map([["a", message("a")]]));
    const tab = device.openTab();
    expect([...(await tab.show("chat/trip")).keys()]).toEqual(["a"]);
    await settle();
    expect([...server.list("ada", "chat/trip").keys()]).toEqual(["a"]);
    expect((await device.local.read('"ada"/chat/trip')).size).toBe(0);
    expect([...(await tab.read("chat/trip")).keys()]).toEqual(["a"]);
  });

  test("reads a collection whose change comes in the first of several events", async () => {
    const server = createSyncServer();
    let send = (_: object) => {};
    const headers = {
      "x-sluice-features": "sync",
      "x-sluice-account": "account-of-ada",
      "content-type": "text/event-stream",
    };
    const body = new ReadableStream<string>({
      start(controller) {
        send = (json) => controller.enqueue(`event: changed\ndata: ${JSON.stringify(json)}\n\n`);
      },
    }).pipeThrough(new TextEncoderStream());
    server.script = ({ path }) => (path === "events" ? new Response(body, { headers }) : undefined);
    const shown = await createDevice(server).openTab().show("chat/trip");
    await settle();
    server.set("ada", "chat/trip", { a: message("a") });
    send({ cursor: null, changes: [{ collection: "chat/trip", version: 1 }] });
    send({ cursor: "1.0", changes: [] });
    await settle();
    expect([...shown.keys()]).toEqual(["a"]);
  });

  test("pulls only the collections in use", async () => {
    const server = createSyncServer();
    for (let nth = 0; nth < 50; nth += 1) server.set("ada", `chat/${nth}`, { a: message("a") });
    const tab = createDevice(server).openTab();
    await tab.show("chat/7");
    await settle();
    server.set("ada", "chat/8", { b: message("b") });
    await settle();
    const pulled = server.requests.filter(({ path }) => path === "pull");
    expect(new Set(pulled.map(({ body }) => body.collection))).toEqual(new Set(["chat/7"]));
  });
});
