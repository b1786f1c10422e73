import { createClient } from "@sluice/core";
import {
  GatewayProvider,
  type UseAttachmentsResult,
  type UseChatStreamResult,
  type UseConversationsResult,
  useAttachments,
  useChatStream,
  useConversations,
} from "@sluice/react";
import { indexedDBStorage } from "@sluice/stores";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import { openBody, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";

/* Tests of features that only a browser has: IndexedDB, BroadcastChannel, Web Locks, a canvas, and previews. */

interface Tab {
  list?: UseConversationsResult;
  chat?: UseChatStreamResult;
  attachments?: UseAttachmentsResult;
}

const roots: Root[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) root.unmount();
  document.body.replaceChildren();
});

/** Opens a tab with a client, a storage and a React root of its own. */
function openTab({
  name,
  id,
  response = new Response(),
}: {
  name: string;
  id: string;
  response?: Response;
}): Tab {
  const tab: Tab = {};
  const client = createClient({ baseURL: "https://gateway.test", fetch: async () => response });
  const storage = indexedDBStorage({ name });
  const root = createRoot(document.body.appendChild(document.createElement("main")));
  roots.push(root);
  root.render(
    <GatewayProvider client={client}>
      <Page tab={tab} id={id} storage={storage} />
    </GatewayProvider>,
  );
  return tab;
}

function Page({ tab, id, storage }: { tab: Tab; id: string; storage: ReturnType<typeof indexedDBStorage> }) {
  tab.list = useConversations({ storage, activeId: id });
  tab.chat = useChatStream({ id, model: "delta-5.3", storage });
  tab.attachments = useAttachments("alpha-v4.1-flash", { maxSide: 64 });
  return (
    <>
      {tab.attachments.attachments.map(({ id, previewUrl, file }) => (
        <img key={id} src={previewUrl} alt={file.name} />
      ))}
    </>
  );
}

const expectSoon = <T,>(read: () => T) => expect.poll(read);
const listRows = (tab: Tab) => tab.list?.conversations.map(({ title, status }) => `${title}: ${status}`);
const waitUntilOpen = (tab: Tab) =>
  expectSoon(() => [tab.list?.isRestoring, tab.chat?.persistence?.status]).toEqual([false, "saved"]);

test("two tabs share the list of conversations through IndexedDB", async () => {
  const name = `list-${Math.random()}`;
  const id = `chat-${Math.random()}`;
  const connection = openBody();
  const one = openTab({ name, id, response: streamResponse(connection.body) });
  const two = openTab({ name, id: "another" });
  await waitUntilOpen(one);
  await waitUntilOpen(two);
  void one.chat?.send("Why is the sky blue?");
  await expectSoon(() => listRows(one)).toEqual(["Why is the sky blue?: responding"]);
  // this tab shows another chat, and a list has the activity only of chats that its tab shows
  await expectSoon(() => listRows(two)).toEqual(["Why is the sky blue?: ready"]);
  connection.send(streamText("Short waves scatter more."));
  connection.end();
  await expectSoon(() => listRows(one)).toEqual(["Why is the sky blue?: ready"]);
  await expectSoon(async () => (await two.list?.search("scatter"))?.length).toBe(1);
  two.list?.remove(id);
  await expectSoon(() => [listRows(one), one.list?.removed.length]).toEqual([[], 1]);
  one.list?.restore(id);
  await expectSoon(() => listRows(two)).toEqual(["Why is the sky blue?: ready"]);
});

test("a large image is downscaled, and its preview loads until it is removed", async () => {
  const tab = openTab({ name: `images-${Math.random()}`, id: "a" });
  await waitUntilOpen(tab);
  const canvas = Object.assign(document.createElement("canvas"), { width: 300, height: 100 });
  canvas.getContext("2d")?.fillRect(0, 0, 300, 100);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  tab.attachments?.add([new File([blob as Blob], "wide.png", { type: "image/png" })]);
  await expectSoon(() => tab.attachments?.images.map(({ type }) => type)).toEqual(["image/jpeg"]);
  const { width, height } = await createImageBitmap(tab.attachments?.images[0] as Blob);
  expect([width, height]).toEqual([64, 21]);
  const preview = () => document.querySelector("img");
  await expectSoon(() => preview()?.naturalWidth).toBe(300);
  const address = preview()?.src ?? "";
  tab.attachments?.clear();
  await expectSoon(preview).toBe(null);
  await expect(fetch(address)).rejects.toThrow();
});
