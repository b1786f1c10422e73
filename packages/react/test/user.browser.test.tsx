import { type Client, createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import {
  type ChatStorage,
  GatewayProvider,
  useAsset,
  useAttachments,
  useChatStream,
  useConversations,
  useImages,
  useVideoTask,
  useVideoTasks,
} from "@sluice/react";
import { indexedDBStorage, signOut } from "@sluice/stores";
import { useLayoutEffect } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";

/*
 * An app with everything that is stored or shared, in a real browser. Names of locks, channels and collections are noted
 * where they reach the browser.
 */

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const png = () =>
  new File([Uint8Array.from(atob(PIXEL), (letter) => letter.charCodeAt(0))], "reef.png", {
    type: "image/png",
  });

function usePage(storage: ChatStorage) {
  return {
    chat: useChatStream({ id: "a", model: "delta-5.3", storage }),
    conversations: useConversations({ storage, activeId: "a" }),
    video: useVideoTask({ storage }),
    videos: useVideoTasks({ storage }),
    asset: useAsset({ groupId: "group" }),
    images: useImages({ id: "pictures", model: "gamma-image-5-0-260128" }),
    attachments: useAttachments("alpha-v4.1-flash"),
  };
}

let root: Root | undefined;
let page: ReturnType<typeof usePage>;
/** The client of the last commit. */
let shownClient: Client | undefined;

function App({ client, storage }: { client: Client; storage: ChatStorage }) {
  const current = usePage(storage);
  useLayoutEffect(() => {
    page = current;
    shownClient = client;
  });
  return null;
}

async function show(client: Client, storage: ChatStorage): Promise<void> {
  root ??= createRoot(document.body.appendChild(document.createElement("div")));
  root.render(
    <GatewayProvider client={client}>
      <App client={client} storage={storage} />
    </GatewayProvider>,
  );
  await waitUntil(() => shownClient === client);
}

async function waitUntil(it: () => unknown): Promise<void> {
  while (!it()) await new Promise(requestAnimationFrame);
}

/** A client of a user. All users have one gateway, where ids are the same for all. */
function createUserClient(emulator: ReturnType<typeof createEmulator>, user: string | undefined): Client {
  return createClient({
    ...emulator.clientOptions,
    user,
    gateway: { assetLookup: "/gamma/asset/GetAsset" },
  });
}

/** Notes the names that reach the browser. */
function noteNames(inner: ChatStorage) {
  const names = { locks: new Set<string>(), channels: new Set<string>() };
  const collections = new Set<string>();
  const request = navigator.locks.request.bind(navigator.locks) as (...given: unknown[]) => Promise<unknown>;
  vi.spyOn(navigator.locks, "request").mockImplementation(((name: string, ...rest: unknown[]) => {
    names.locks.add(name);
    return request(name, ...rest);
  }) as LockManager["request"]);
  vi.stubGlobal(
    "BroadcastChannel",
    class extends BroadcastChannel {
      constructor(name: string) {
        super(name);
        names.channels.add(name);
      }
    },
  );
  const note = <Rest extends unknown[], Answer>(act: (collection: string, ...rest: Rest) => Answer) => {
    return (collection: string, ...rest: Rest) => {
      collections.add(collection);
      return act(collection, ...rest);
    };
  };
  const storage: ChatStorage = {
    ...inner,
    read: note(inner.read),
    write: note(inner.write),
    subscribe: note(inner.subscribe),
    broadcast: note((collection, changes: ReadonlyMap<string, unknown>) =>
      inner.broadcast?.(collection, changes),
    ),
  };
  return { storage, names, collections };
}

/** Uses each kind of data once: stored data, data shared with other tabs, and data of the page. */
async function useEverything(): Promise<void> {
  await waitUntil(() => page.chat.persistence?.status === "saved" && !page.conversations.isRestoring);
  page.attachments.add([png()]);
  await page.chat.send("What is a reef?");
  await page.images.generate({ prompt: "A reef at dawn", size: "2048x2048" });
  await page.video.create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
  await page.asset.create("https://example.com/reef.png");
  await waitUntil(() => page.video.task && page.asset.asset && page.conversations.total === 1);
  await waitUntil(() => page.attachments.images.length === 1);
}

const pickShown = ({ chat, conversations, ...rest }: typeof page) => ({
  messages: chat.messages.length,
  conversations: conversations.total,
  video: rest.video.status,
  videos: rest.videos.tasks.length,
  asset: rest.asset.status,
  images: rest.images.status,
  attachments: rest.attachments.attachments.length,
});

const nothing = {
  messages: 0,
  conversations: 0,
  video: "idle",
  videos: 0,
  asset: "idle",
  images: "idle",
  attachments: 0,
};

afterEach(() => {
  root?.unmount();
  root = undefined;
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("Every lock, channel and collection has the user of the client in its name", async () => {
  const name = `names-${crypto.randomUUID()}`;
  const { storage, names, collections } = noteNames(indexedDBStorage({ name }));
  await show(createUserClient(createEmulator({ speed: 50 }), "user/1"), storage);
  await useEverything();

  // the channel of the database has only its name: its messages name the collection, and so the user
  names.channels.delete(`${name}/1`);
  const all: Readonly<Record<string, ReadonlySet<string>>> = { ...names, collections };
  const own = '"user/1"/';
  for (const [kind, used] of Object.entries(all))
    for (const each of used) expect(each, kind).toMatch(new RegExp(`^${own}`));
  // all kinds of names were used: without them, the test above would check nothing
  const listKinds = (used: ReadonlySet<string>) =>
    new Set([...used].map((each) => /^(?:sluice\/)?[a-z-]+/.exec(each.slice(own.length))?.[0]));
  expect(listKinds(names.locks)).toEqual(
    new Set(["sluice/chat", "sluice/submission", "sluice/video", "sluice/asset"]),
  );
  expect(listKinds(names.channels)).toEqual(new Set(["sluice/video", "sluice/asset"]));
  expect(listKinds(collections)).toEqual(new Set(["chat", "conversations", "forgotten", "video-tasks"]));
});

test("A page whose user changes shows nothing of the first user, and all of it when that user is back", async () => {
  const storage = indexedDBStorage({ name: `users-${crypto.randomUUID()}` });
  const emulator = createEmulator({ speed: 50 });
  const [ann, bob] = [createUserClient(emulator, "ann"), createUserClient(emulator, "bob")];
  await show(ann, storage);
  await useEverything();
  const { handle } = page.video;

  await show(bob, storage);
  await waitUntil(() => page.chat.messages.length === 0 && !page.conversations.isRestoring);
  await waitUntil(() => page.chat.persistence?.status === "saved");
  expect(pickShown(page)).toEqual(nothing);
  expect(await page.conversations.search("reef")).toEqual([]);

  // without a user, the page is that of a third user
  await show(createUserClient(emulator, undefined), storage);
  await waitUntil(() => page.chat.persistence?.status === "saved" && !page.conversations.isRestoring);
  expect(pickShown(page)).toEqual(nothing);

  await show(createUserClient(emulator, "ann"), storage);
  await waitUntil(() => page.chat.messages.length === 2 && page.videos.tasks.length === 1);
  await waitUntil(() => page.conversations.total === 1);
  expect(page.videos.tasks[0]?.handle?.id).toBe(handle?.id);
});

test("A user who signs out leaves nothing on the page and nothing in the browser, in every tab", async () => {
  const name = `left-${crypto.randomUUID()}`;
  const storage = indexedDBStorage({ name });
  const emulator = createEmulator({ speed: 50 });
  const ann = createUserClient(emulator, "ann");
  await show(ann, storage);
  await useEverything();
  const turn = page.chat.send("Tell me more [[stall]]");

  expect(await signOut(ann)).toEqual({ unsent: 0, errors: [] });
  expect((await turn).outcome).toBe("stopped");
  await waitUntil(() => page.chat.messages.length === 0 && page.attachments.attachments.length === 0);
  expect(pickShown(page)).toEqual(nothing);
  expect(await readKeys(`${name}/1`)).toEqual([]);
});

/** Keys of all records of a database. */
async function readKeys(database: string): Promise<readonly unknown[]> {
  const opening = indexedDB.open(database);
  const connection = await new Promise<IDBDatabase>((resolve) => {
    opening.onsuccess = () => resolve(opening.result);
  });
  const reading = connection.transaction("records").objectStore("records").getAllKeys();
  await new Promise((resolve) => {
    reading.onsuccess = resolve;
  });
  connection.close();
  return reading.result;
}
