import { type ChatStorage, createVideoTaskStore, memoryStorage, signOut } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, frame, settled, waitUntil } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { until } from "./support/chat.js";
import { listStored, openPage, request } from "./support/user-pages.js";

/** Creates a storage whose writes wait while they are held, except for the record of a sign-out. */
function createSlowStorage(inner: ChatStorage) {
  let held: Promise<void> | undefined;
  let release: () => void = () => {};
  const storage: ChatStorage = {
    ...inner,
    async write(collection, changes) {
      if (!collection.includes("forgotten")) await held;
      await inner.write(collection, changes);
    },
  };
  function hold(): void {
    held = new Promise((resolve) => {
      release = resolve;
    });
  }
  return { storage, hold, release: () => release() };
}

describe("Signing out", () => {
  test("removes what the user has stored, empties the stores, and leaves other users alone", async () => {
    const storage = memoryStorage();
    const [ann, bob, nobody] = [
      openPage(storage, "ann"),
      openPage(storage, "bob"),
      openPage(storage),
    ] as const;
    for (const page of [ann, bob, nobody]) await page.sendAndCreate();
    expect(await listStored(storage, "ann")).not.toEqual([]);
    expect(await signOut(ann.client)).toEqual({ unsent: 0, errors: [] });
    await settled();
    expect(await listStored(storage, "ann")).toEqual([]);
    expect([ann.listTexts(), ann.list.getSnapshot()]).toEqual([[], []]);
    for (const [page, user] of [
      [bob, "bob"],
      [nobody, undefined],
    ] as const) {
      expect(page.listTexts()).toEqual([`question of ${user}`, "Hi"]);
      expect(page.list.getSnapshot()).toHaveLength(1);
      expect((await listStored(storage, user)).length).toBeGreaterThan(3);
    }
  });

  test("can be repeated, even while the first call is in progress", async () => {
    const storage = memoryStorage();
    const { client, sendAndCreate } = openPage(storage, "ann");
    await sendAndCreate();
    expect(await Promise.all([signOut(client), signOut(client)])).toEqual([
      { unsent: 0, errors: [] },
      { unsent: 0, errors: [] },
    ]);
    expect(await signOut(client)).toEqual({ unsent: 0, errors: [] });
    expect(await listStored(storage, "ann")).toEqual([]);
  });

  test("stops a streaming response, which is not written later", async () => {
    const storage = memoryStorage();
    const { client, chat, secondResponse, listTexts, sendAndCreate } = openPage(storage, "ann");
    await sendAndCreate();
    const turn = chat.send("and then?");
    await secondResponse.wanted();
    secondResponse.send(frame({ content: "Half" }));
    await secondResponse.wanted();
    expect(await signOut(client)).toEqual({ unsent: 0, errors: [] });
    expect((await turn).outcome).toBe("stopped");
    await settled();
    expect([await listStored(storage, "ann"), listTexts(), secondResponse.cancelled]).toEqual([[], [], true]);
  });

  test("reaches the other tabs of the user, which stop and remove their records", async () => {
    const storage = memoryStorage();
    const [one, two] = [openPage(storage, "ann"), openPage(storage, "ann")] as const;
    await one.sendAndCreate();
    await two.sendAndCreate();
    const turn = two.chat.send("and then?");
    await two.secondResponse.wanted();
    two.secondResponse.send(frame({ content: "Half" }));
    await signOut(one.client);
    expect((await turn).outcome).toBe("stopped");
    await settled();
    expect([two.listTexts(), two.list.getSnapshot(), await listStored(storage, "ann")]).toEqual([[], [], []]);
  });

  test("also removes records that a slow write of this or another tab adds later", async () => {
    const inner = memoryStorage();
    for (const isOwn of [true, false]) {
      const slow = createSlowStorage(inner);
      const writer = openPage(slow.storage, "ann");
      await writer.sendAndCreate();
      slow.hold();
      const [first] = writer.chat.getSnapshot().messages;
      writer.chat.switchBranch(first?.id ?? "");
      await settled();
      const { client } = isOwn ? writer : openPage(inner, "ann");
      const forgetting = signOut(client);
      await settled();
      if (!isOwn) await forgetting;
      slow.release();
      await forgetting;
      await settled();
      expect(await listStored(inner, "ann")).toEqual([]);
      writer.chat.close();
    }
  });

  test("leaves no entry of a submission whose response arrives later", async () => {
    const storage = memoryStorage();
    let respond: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      respond = resolve;
    });
    const { client, requests } = createTestClient(
      async () => {
        await held;
        return Response.json({ id: "video", created_at: 1 });
      },
      { user: "ann" },
    );
    const creating = createVideoTaskStore(client, { storage }).create(request);
    await waitUntil(() => requests.length > 0, settled);
    await signOut(client);
    respond();
    await creating;
    await settled();
    expect(await listStored(storage, "ann")).toEqual([]);
  });

  test("leaves the app's collections and other users alone if the client has no user", async () => {
    const storage = memoryStorage();
    const [ann, nobody] = [openPage(storage, "ann"), openPage(storage)];
    await ann.sendAndCreate();
    await nobody.sendAndCreate();
    await storage.write("chats-of-the-app", new Map([["a", 1]]));
    await signOut(nobody.client);
    expect(await listStored(storage)).toEqual([]);
    expect((await listStored(storage, "ann")).length).toBeGreaterThan(3);
    expect((await storage.read("chats-of-the-app")).size).toBe(1);
  });

  test("returns the error of a failed removal, and removes the records the next time", async () => {
    const inner = memoryStorage();
    let isFailing = false;
    const fail = () => Promise.reject(new DOMException("closed", "InvalidStateError"));
    const storage: ChatStorage = {
      ...inner,
      write: (name, changes) => (isFailing ? fail() : inner.write(name, changes)),
      clear: (name) => (isFailing ? fail() : (inner.clear?.(name) ?? Promise.resolve())),
    };
    const { client, sendAndCreate } = openPage(storage, "ann");
    await sendAndCreate();
    isFailing = true;
    expect((await signOut(client)).errors).toMatchObject([{ name: "InvalidStateError" }]);
    isFailing = false;
    expect(await signOut(client)).toEqual({ unsent: 0, errors: [] });
    expect(await listStored(inner, "ann")).toEqual([]);
  });

  test("removes known records from a storage without clear, and reports that others may be left", async () => {
    const { clear: _, ...storage } = memoryStorage();
    const before = openPage(storage, "ann");
    await before.sendAndCreate();
    // an earlier page has shown another conversation
    await storage.write('"ann"/conversations', new Map([["b", { title: "Old" }]]));
    await storage.write('"ann"/chat/b', new Map([["m", { message: { role: "user", content: "Old" } }]]));
    expect((await signOut(before.client)).errors).toMatchObject([
      { message: expect.stringContaining("clear") },
    ]);
    await settled();
    expect(await listStored(storage, "ann")).toEqual([]);
  });

  test("clears a given storage that this page has not used", async () => {
    const storage = memoryStorage();
    await openPage(storage, "ann").sendAndCreate();
    const { client } = createTestClient(() => new Response(), { user: "ann" });
    expect(await signOut(client, { storages: [storage] })).toEqual({ unsent: 0, errors: [] });
    expect(await listStored(storage, "ann")).toEqual([]);
  });

  test("removes nothing that is written afterwards, even if its own event arrives late", async () => {
    const inner = memoryStorage();
    const late: (() => void)[] = [];
    const storage: ChatStorage = {
      ...inner,
      subscribe: (collection, listener) =>
        inner.subscribe(collection, (records) => {
          if (collection.includes("forgotten")) late.push(() => listener(records));
          else listener(records);
        }),
    };
    const { client, chat, listTexts, secondResponse, sendAndCreate } = openPage(storage, "ann");
    await sendAndCreate();
    await signOut(client);
    const turn = chat.send("Hello again");
    secondResponse.send(streamText("Hello"));
    await turn;
    expect(late).not.toEqual([]);
    for (const arrive of late) arrive();
    await settled();
    expect(listTexts()).toEqual(["Hello again", "Hello"]);
    expect(await listStored(storage, "ann")).not.toEqual([]);
  });

  test("leaves a chat that works like a new chat", async () => {
    const storage = memoryStorage();
    const { client, chat, listTexts, secondResponse, sendAndCreate } = openPage(storage, "ann");
    await sendAndCreate();
    await signOut(client);
    const turn = chat.send("Hello again");
    secondResponse.send(streamText("Hello"));
    await turn;
    await settled();
    expect(listTexts()).toEqual(["Hello again", "Hello"]);
    const later = openPage(storage, "ann");
    await until(later.chat, ({ messages }) => messages.length === 2);
  });
});
