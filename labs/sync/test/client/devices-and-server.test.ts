import type { RecordStorage } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { type ChatStore, createChatStore, memoryStorage, signOut } from "@sluice/stores";
import { storageTests } from "@sluice/stores/testing";
import { remoteStorage } from "@sluice/sync";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  findMessage,
  list,
  openChat,
  openServer,
  watchCollection,
} from "../../../../tests/support/conversations-server.ts";

let server: ReturnType<typeof openServer>;
const stops: (() => void)[] = [];
beforeEach(() => {
  server = openServer();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await server.close();
  vi.useRealTimers();
});

type Device = ReturnType<typeof server.openDevice>;

/** Opens a conversation as a chat does: it watches, then reads. */
async function open({ client, storage: first }: Device, storage: RecordStorage = first, of = openChat) {
  const { records, stop } = watchCollection(storage, of(client));
  stops.push(stop);
  const read = await storage.read(of(client));
  for (const [key, value] of read) if (!records.has(key)) records.set(key, value);
  const write = (changes: Record<string, unknown>) =>
    storage.write(of(client), new Map(Object.entries(changes)));
  const texts = () => [...records.keys()].sort();
  return { records, texts, write, stop };
}

const stored = async ({ client, local }: Device, of = openChat) =>
  Object.fromEntries(await local.read(of(client)));
const kept = async ({ client, storage }: Device) => {
  await expect
    .poll(() => storage.status(openChat(client)).getSnapshot())
    .toEqual({ isSyncing: false, unsent: 0 });
};

/** Stops the intervals of a server that looks for readers which left without a word: here the server is gone before. */
function stopIntervals(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
}

describe("a conversation on two devices", () => {
  stopIntervals();
  test("A message that one device writes comes to the watchers of the other", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const there = await open(laptop);
    expect(there.texts()).toEqual([]);
    await (await open(phone)).write({ a: findMessage("Hello") });
    await expect.poll(() => there.records.get("a")).toEqual(findMessage("Hello"));
    expect(await stored(laptop)).toEqual({ a: findMessage("Hello") });
  });

  test("A removal comes to the other device, and leaves its copy", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone), await open(laptop)];
    await here.write({ a: findMessage("Hello"), b: findMessage("World") });
    await expect.poll(there.texts).toEqual(["a", "b"]);
    await there.write({ a: undefined });
    await expect.poll(here.texts).toEqual(["b"]);
    expect(await stored(phone)).toEqual({ b: findMessage("World") });
  });

  test("Two changes of one message are joined, and both devices have the same", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone), await open(laptop)];
    const calls = (a: object, b: object) => ({
      toolCalls: [
        { id: "a", name: "look", arguments: "{}", input: {}, ...a },
        { id: "b", name: "look", arguments: "{}", input: {}, ...b },
      ],
      role: "assistant",
      outcome: "tool-calls",
    });
    const running = { state: "running" };
    await here.write({ m: findMessage("m", 1, calls(running, running)) });
    await expect.poll(there.texts).toEqual(["m"]);
    phone.goOffline();
    await here.write({ m: findMessage("m", 2, calls({ state: "done", output: 1 }, running)) });
    await there.write({ m: findMessage("m", 3, calls(running, { state: "done", output: 2 })) });
    await kept(laptop);
    phone.goOnline();
    const both = findMessage("m", 3, calls({ state: "done", output: 1 }, { state: "done", output: 2 }));
    await expect.poll(() => [here.records.get("m"), there.records.get("m")]).toEqual([both, both]);
    await kept(phone);
    expect(await stored(laptop)).toEqual({ m: both });
  });

  test("A removal wins over a change that another device made at the same time", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone), await open(laptop)];
    await here.write({ a: findMessage("a"), b: findMessage("b") });
    await expect.poll(there.texts).toEqual(["a", "b"]);
    phone.goOffline();
    await here.write({ a: undefined, b: findMessage("b", 2) });
    await there.write({ a: findMessage("a", 5), b: undefined });
    await kept(laptop);
    phone.goOnline();
    await expect.poll(() => [here.texts(), there.texts()]).toEqual([[], []]);
    expect([await stored(phone), await stored(laptop)]).toEqual([{}, {}]);
  });

  test("The conversation with the higher revision wins, and a device that was older learns of it", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone, phone.storage, list), await open(laptop, laptop.storage, list)];
    await here.write({ trip: { title: "Trip", revision: 1 } });
    await expect.poll(there.texts).toEqual(["trip"]);
    phone.goOffline();
    await here.write({ trip: { title: "Trip to Rome", revision: 2 } });
    await there.write({ trip: { title: "Holidays", isPinned: true, revision: 3 } });
    await expect.poll(() => laptop.storage.status("conversations").getSnapshot().unsent).toBe(0);
    phone.goOnline();
    const newest = { title: "Holidays", isPinned: true, revision: 3 };
    await expect.poll(() => here.records.get("trip")).toEqual(newest);
    await expect.poll(() => phone.storage.status("conversations").getSnapshot().unsent).toBe(0);
    expect(await stored(laptop, list)).toEqual({ trip: newest });
  });

  test("A rename stays when another device changes something else of the conversation at the same time", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone, phone.storage, list), await open(laptop, laptop.storage, list)];
    await here.write({ trip: { title: "Trip", isAnswering: true, revision: 1 } });
    await expect.poll(there.texts).toEqual(["trip"]);
    phone.goOffline();
    await here.write({ trip: { title: "Trip to Rome", isAnswering: true, revision: 2 } });
    await there.write({ trip: { title: "Trip", revision: 2 } });
    await there.write({ trip: { title: "Trip", isPinned: true, revision: 3 } });
    await expect.poll(() => laptop.storage.status("conversations").getSnapshot().unsent).toBe(0);
    phone.goOnline();
    // newer than both changes, however often they met
    const both = { title: "Trip to Rome", isPinned: true, revision: expect.any(Number) };
    await expect.poll(() => [here.records.get("trip"), there.records.get("trip")]).toEqual([both, both]);
    await expect.poll(() => here.records.get("trip")).toEqual(there.records.get("trip"));
    const { trip } = await stored(laptop, list);
    expect(trip).toEqual(there.records.get("trip"));
  });

  test("A passed answer is shown on the other device, and kept by none", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const there = await open(laptop);
    await expect.poll(() => laptop.requests.filter((one) => one.endsWith("/follow"))).toHaveLength(1);
    const passed = { ...findMessage("Rom", 1, { role: "assistant" }), isPassed: true };
    await expect
      .poll(async () => {
        phone.storage.pass?.(openChat(phone.client), new Map([["m", passed]]));
        return there.records.get("m");
      })
      .toEqual(passed);
    expect(await stored(laptop)).toEqual({});
    expect((await open(server.openDevice())).texts()).toEqual([]);
  });
});

describe("a device without a network", () => {
  stopIntervals();
  test("It shows its copy at once, and sends what it has when the network is back", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const here = await open(phone);
    await here.write({ a: findMessage("Hello") });
    await kept(phone);
    phone.goOffline();
    here.stop();
    const again = await open(phone);
    expect(again.texts()).toEqual(["a"]);
    await again.write({ b: findMessage("World") });
    await expect
      .poll(() => phone.storage.status("chat/trip").getSnapshot())
      .toMatchObject({
        isSyncing: false,
        unsent: 1,
        error: { name: "ConnectionError" },
      });
    const there = await open(laptop);
    expect(there.texts()).toEqual(["a"]);
    phone.goOnline();
    await expect.poll(there.texts).toEqual(["a", "b"]);
    await kept(phone);
  });

  test("What a closed page could not send is sent by the next one, also to a conversation that it does not show", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    phone.goOffline();
    const closed = phone.openTab();
    await closed.write(openChat(phone.client), new Map([["a", findMessage("Hello")]]));
    const outbox = await phone.local.read(`"${phone.client.user}"/remote/outbox`);
    expect(outbox.size).toBe(1);
    // the lock of a page goes with it: another process has none of this one's
    const local = memoryStorage();
    await local.write(`"reload"/chat/trip`, new Map([["a", findMessage("Hello")]]));
    await local.write(`"reload"/remote/outbox`, outbox);
    const reloaded = server.openDevice({ local, user: "reload" });
    await open(reloaded, reloaded.storage, list);
    const there = await open(laptop);
    await expect.poll(there.texts).toEqual(["a"]);
    await expect.poll(async () => (await local.read(`"reload"/remote/outbox`)).size).toBe(0);
  });

  test("A move to a folder that a closed page could not send stays, and so does the rename of another device", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone, phone.storage, list), await open(laptop, laptop.storage, list)];
    await here.write({ trip: { title: "Trip", revision: 1 } });
    await expect.poll(there.texts).toEqual(["trip"]);
    await expect.poll(() => phone.storage.status("conversations").getSnapshot().unsent).toBe(0);
    phone.goOffline();
    await here.write({ trip: { title: "Trip", folder: "Travel", revision: 2 } });
    await there.write({ trip: { title: "Trip to Rome", revision: 2 } });
    await there.write({ trip: { title: "Trip to Rome", isPinned: true, revision: 3 } });
    await expect.poll(() => laptop.storage.status("conversations").getSnapshot().unsent).toBe(0);
    // the lock of a page goes with it: another process has none of this one's
    const local = memoryStorage();
    for (const name of ["conversations", "remote/conversations", "remote/outbox"])
      await local.write(`"reload"/${name}`, await phone.local.read(`"${phone.client.user}"/${name}`));
    const reloaded = server.openDevice({ local, user: "reload" });
    await open(reloaded, reloaded.storage, list);
    const all = { title: "Trip to Rome", isPinned: true, folder: "Travel", revision: expect.any(Number) };
    await expect.poll(() => there.records.get("trip")).toEqual(all);
    await expect.poll(async () => (await local.read(`"reload"/conversations`)).get("trip")).toEqual(all);
    await expect.poll(async () => (await local.read(`"reload"/remote/outbox`)).size).toBe(0);
  });

  test("A device that was away for long gets the difference alone", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone), await open(laptop)];
    await here.write(
      Object.fromEntries(Array.from({ length: 600 }, (_, nth) => [`m-${nth}`, findMessage(`${nth}`)])),
    );
    await expect.poll(() => there.texts().length).toBe(600);
    there.stop();
    await expect.poll(() => laptop.storage.status("chat/trip").getSnapshot().isSyncing).toBe(false);
    await here.write({ "m-0": undefined, "m-1": findMessage("1", 2), new: findMessage("new") });
    await kept(phone);
    laptop.requests.length = 0;
    const again = await open(laptop);
    await expect.poll(() => again.records.has("new")).toBe(true);
    await expect.poll(() => laptop.requests.some((one) => one.endsWith("/follow"))).toBe(true);
    expect(laptop.requests.filter((one) => one.endsWith("/records"))).toHaveLength(1);
    expect([again.records.has("m-0"), again.records.get("m-1")]).toEqual([false, findMessage("1", 2)]);
  });
});

describe("a long conversation", () => {
  stopIntervals();
  test("A new device shows the newest page first, and gets the older ones by itself", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const here = await open(phone);
    const all = Array.from({ length: 1200 }, (_, nth) => [`m-${nth}`, findMessage(`${nth}`)] as const);
    for (let at = 0; at < all.length; at += 300) {
      await here.write(Object.fromEntries(all.slice(at, at + 300)));
      await kept(phone);
    }
    let readOn: () => void = () => {};
    const older = new Promise<void>((resolve) => {
      readOn = resolve;
    });
    laptop.onRequest((path) => (path.includes("cursor") ? older : undefined));
    const there = watchCollection(laptop.storage, openChat(laptop.client));
    stops.push(there.stop);
    const first = await laptop.storage.read(openChat(laptop.client));
    expect([first.size, first.has("m-1199"), first.has("m-0")]).toEqual([500, true, false]);
    expect(laptop.storage.status("chat/trip").getSnapshot().isSyncing).toBe(true);
    readOn();
    await expect.poll(() => there.records.size).toBe(1200);
    expect((await laptop.storage.read(openChat(laptop.client))).size).toBe(1200);
    expect(laptop.requests.filter((one) => one.endsWith("/records"))).toHaveLength(3);
  });

  test("A page that is closed among the older ones goes on where it stood", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const here = await open(phone);
    await here.write(
      Object.fromEntries(Array.from({ length: 1200 }, (_, nth) => [`m-${nth}`, findMessage(`${nth}`)])),
    );
    await kept(phone);
    const pages: string[] = [];
    laptop.onRequest((path) => {
      if (!path.includes("/records")) return undefined;
      pages.push(path);
      return pages.length === 3 ? new Promise(() => {}) : undefined;
    });
    const closed = await open(laptop);
    await expect.poll(() => pages.length).toBe(3);
    closed.stop();
    const again = await open(laptop);
    expect(again.records.size).toBe(1000);
    await expect.poll(() => again.records.size).toBe(1200);
    // a look at what is new, and the page that was missing
    expect(pages.slice(3)).toEqual([expect.stringContaining("since="), pages[2]]);
  });
});

describe("removing and forgetting", () => {
  stopIntervals();
  test("The removal of a conversation's record deletes it on the server and on the other device", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [await open(phone, phone.storage, list), await open(laptop, laptop.storage, list)];
    await phone.storage.write(openChat(phone.client), new Map([["a", findMessage("Hello")]]));
    await here.write({ trip: { title: "Trip", createdAt: 1, updatedAt: 1, revision: 1 } });
    await expect.poll(there.texts).toEqual(["trip"]);
    const shown = await open(laptop);
    await expect.poll(shown.texts).toEqual(["a"]);
    await here.write({ trip: undefined });
    await expect.poll(there.texts).toEqual([]);
    await expect.poll(shown.texts).toEqual([]);
    expect(phone.requests).toContain("DELETE /v1/conversations/trip");
    expect(await stored(laptop)).toEqual({});
    expect((await open(server.openDevice())).texts()).toEqual([]);
  });

  test("A device that was away when a conversation was removed forgets its copy, and does not bring it back", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const there = await open(laptop);
    await there.write({ a: findMessage("Hello") });
    await kept(laptop);
    there.stop();
    const here = await open(phone, phone.storage, list);
    await here.write({ trip: { title: "Trip", createdAt: 1, updatedAt: 1, revision: 1 } });
    await here.write({ trip: undefined });
    await expect.poll(() => phone.requests.includes("DELETE /v1/conversations/trip")).toBe(true);
    await expect.poll(() => phone.storage.status("conversations").getSnapshot().unsent).toBe(0);
    const again = await open(laptop);
    await expect.poll(again.texts).toEqual([]);
    expect(await stored(laptop)).toEqual({});
    await expect.poll(() => laptop.storage.status("chat/trip").getSnapshot().unsent).toBe(0);
    expect((await open(server.openDevice())).texts()).toEqual([]);
  });

  test("signOut(client) forgets the copy and deletes nothing on the server", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const here = await open(phone);
    await here.write({ a: findMessage("Hello") });
    await kept(phone);
    expect(await signOut(phone.client, { storages: [phone.storage] })).toEqual({ unsent: 0, errors: [] });
    expect(await stored(phone)).toEqual({});
    expect((await phone.local.read(`"${phone.client.user}"/remote/chat/trip`)).size).toBe(0);
    await expect.poll(here.texts).toEqual([]);
    const sent = phone.requests.length;
    expect((await phone.storage.read(openChat(phone.client))).size).toBe(0);
    expect(phone.requests.slice(sent)).toEqual([]);
    expect((await open(laptop)).texts()).toEqual(["a"]);
  });
});

describe("locks of all devices", () => {
  stopIntervals();
  test("One page at a time has a lock, and the other gets it with what was written before", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    await open(laptop);
    const mine = await phone.storage.devices.lock(openChat(phone.client), "m");
    expect(mine?.isHeld).toBe(true);
    expect(await laptop.storage.devices.lock(openChat(laptop.client), "m")).toBeUndefined();
    expect(await phone.openTab().devices.lock(openChat(phone.client), "m")).toBeUndefined();
    let isFree = false;
    stops.push(
      laptop.storage.devices.watchLocks(openChat(laptop.client), () => {
        isFree = true;
      }),
    );
    void phone.storage.write(openChat(phone.client), new Map([["m", findMessage("done")]]));
    await mine?.release();
    expect(mine?.isHeld).toBe(false);
    await expect.poll(() => isFree).toBe(true);
    const theirs = await laptop.storage.devices.lock(openChat(laptop.client), "m");
    expect(theirs?.isHeld).toBe(true);
    expect(await laptop.storage.read(openChat(laptop.client))).toEqual(new Map([["m", findMessage("done")]]));
    await theirs?.release();
  });

  test("A device has one id, in all its tabs", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const ids = await Promise.all([
      phone.storage.devices.id(),
      phone.openTab().devices.id(),
      laptop.storage.devices.id(),
    ]);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });
});

describe("two tabs of one device", () => {
  stopIntervals();
  test("One of them follows the server, and both show what comes", async () => {
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [one, other] = [phone.openTab(), phone.openTab()];
    const [first, second] = [await open(phone, one), await open(phone, other)];
    await (await open(laptop)).write({ a: findMessage("Hello") });
    await expect.poll(() => [first.texts(), second.texts()]).toEqual([["a"], ["a"]]);
    expect(phone.requests.filter((request) => request.endsWith("/follow"))).toHaveLength(1);
    // the tab that followed is closed: the other one goes on
    first.stop();
    await (await open(laptop)).write({ b: findMessage("World") });
    await expect.poll(second.texts).toEqual(["a", "b"]);
    await second.write({ c: findMessage("!") });
    await expect.poll(async () => Object.keys(await stored(laptop)).sort()).toEqual(["a", "b", "c"]);
  });
});

describe("the contract of a storage, for chats on the server", () => {
  const local = memoryStorage();
  const tabs = () => {
    const { client, storage } = server.openDevice({ local, user: "contract" });
    const of = (collection: string) => `${openChat(client).slice(0, -4)}${collection}`;
    return {
      ...storage,
      read: (collection: string) => storage.read(of(collection)),
      write: (collection: string, changes: ReadonlyMap<string, unknown>) =>
        storage.write(of(collection), changes),
      watch: (collection: string, listener: Parameters<RecordStorage["watch"]>[1]) =>
        storage.watch(of(collection), listener),
      pass: (collection: string, changes: ReadonlyMap<string, unknown>) =>
        storage.pass?.(of(collection), changes),
      drop: async (collection: string) => storage.drop?.(of(collection)),
      async lock(name: string) {
        const taken = await storage.lock?.(name);
        return (
          taken && {
            ...taken,
            write: (collection: string, changes: ReadonlyMap<string, unknown>) =>
              taken.write(of(collection), changes),
          }
        );
      },
    };
  };
  // the options of these cases are for storages of one device
  const cases = storageTests({ create: tabs }).filter(
    ({ title }) => !/damaged record|can't be reached|crashed instance/.test(title),
  );
  for (const { title, run } of cases) test(title, run);
});

describe("chats", () => {
  const open = (device: Device, id = "trip"): ChatStore => {
    const store = createChatStore(device.client, { id, model: "delta-5.3", storage: device.storage });
    stops.push(() => store.close());
    store.subscribe(() => {});
    return store;
  };
  const texts = (store: ChatStore) => store.getSnapshot().messages.map(({ content }) => content);

  test("A turn on the phone shows on the laptop, and the laptop's next message follows it", async () => {
    let nth = 0;
    const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, chat: () => `answer ${++nth}` });
    await server.close();
    server = openServer({
      baseURL: "https://gateway.example.com",
      fetch: (request) => emulator.clientOptions.fetch(request),
    });
    const [phone, laptop] = [server.openDevice(), server.openDevice()];
    const [here, there] = [open(phone), open(laptop)];
    await here.send("I am going to Rome");
    await expect.poll(() => texts(there)).toEqual(["I am going to Rome", "answer 1"]);
    await there.send("What do I see there?");
    const all = ["I am going to Rome", "answer 1", "What do I see there?", "answer 2"];
    await expect.poll(() => [texts(here), texts(there)]).toEqual([all, all]);
    const [, sent] = emulator.requests.map(({ body }) => body as { messages: { content: string }[] });
    expect(sent?.messages.map(({ content }) => content)).toEqual([
      "I am going to Rome",
      "answer 1",
      "What do I see there?",
    ]);
  });

  test("Opening one reads its records from the browser's storage once, as with that storage alone", async () => {
    const device = server.openDevice();
    const first = open(device);
    first.setMessages([{ role: "user", content: "Hello" }]);
    await kept(device);
    first.close();
    const reads: string[] = [];
    const counted = {
      ...device.local,
      read(collection: string) {
        reads.push(collection);
        return device.local.read(collection);
      },
    };
    const next = open({ ...device, storage: remoteStorage(device.client, { local: counted }) });
    await expect.poll(() => texts(next)).toEqual(["Hello"]);
    await expect.poll(() => next.getSnapshot().isSyncing).toBe(false);
    expect(reads.filter((collection) => collection === openChat(device.client))).toHaveLength(1);
  });
});
