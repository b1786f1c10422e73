import { type ChatState, type ChatStore, createChatStore } from "@sluice/core";
import {
  createConversationLink,
  joinConversation,
  listConversationMembers,
  removeConversationLink,
  removeConversationMember,
} from "@sluice/core/remote";
import { createEmulator } from "@sluice/emulator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openServer } from "../support/conversations-server.ts";

/* Chats that two users share, each with `remoteStorage` on a device of its own. */

let server: ReturnType<typeof openServer>;
let chats: ChatStore[] = [];
beforeEach(() => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, chat: () => "Because" });
  server = openServer({ fetch: (request) => emulator.clientOptions.fetch(request) });
});
afterEach(() => {
  for (const chat of chats) chat.close();
  chats = [];
  return server.close();
});

type Device = ReturnType<typeof server.device>;

function openChat({ client, storage }: Device, id: string): ChatStore {
  const chat = createChatStore(client, { id, model: "delta-5.3", storage });
  chat.subscribe(() => {});
  chats.push(chat);
  return chat;
}

/** Shares the conversation `trip` of Ada with Ben. */
async function share(access: "read" | "write" = "write") {
  const [ada, ben] = [server.device(), server.device({ user: "ben" })];
  const link = await createConversationLink(ada.client, "trip", { access });
  const { id } = await joinConversation(ben.client, link.token);
  return { ada, ben, id, link };
}

const shown = (chat: ChatStore) =>
  chat.getSnapshot().messages.map(({ content, author }) => [content, author?.name ?? author?.id ?? "me"]);
const until = (chat: ChatStore, fits: (state: ChatState) => boolean) =>
  expect.poll(() => fits(chat.getSnapshot()), { timeout: 20_000 }).toBe(true);

describe("two users of one chat", () => {
  test("Each sees what the other writes, with its author, and no author on own messages", async () => {
    const { ada, ben, id } = await share();
    const [hers, his] = [openChat(ada, "trip"), openChat(ben, id)];
    await until(his, ({ isRestoring }) => !isRestoring);
    expect((await hers.send("Why?")).outcome).toBe("complete");
    await expect
      .poll(() => shown(his), { timeout: 20_000 })
      .toEqual([
        ["Why?", "Name of ada"],
        ["Because", "Name of ada"],
      ]);
    expect((await his.send("And then?")).outcome).toBe("complete");
    const all = [
      ["Why?", "me"],
      ["Because", "me"],
      ["And then?", "Name of ben"],
      ["Because", "Name of ben"],
    ];
    await expect.poll(() => shown(hers), { timeout: 20_000 }).toEqual(all);
    expect(shown(his).map(([, author]) => author)).toEqual(["Name of ada", "Name of ada", "me", "me"]);
    // also on a device that opens it now, and in a copy that is read again
    const other = openChat(server.device({ user: "ben" }), id);
    await expect.poll(() => shown(other), { timeout: 20_000 }).toEqual(shown(his));
    his.close();
    const again = openChat({ ...ben, storage: ben.tab() }, id);
    await expect.poll(() => shown(again), { timeout: 20_000 }).toEqual(shown(his));
  });

  test("What was written before the first link is the owner's", async () => {
    const ada = server.device();
    const hers = openChat(ada, "trip");
    await hers.send("Why?");
    await until(hers, ({ isSyncing }) => !isSyncing);
    const { token } = await createConversationLink(ada.client, "trip", { access: "read" });
    const ben = server.device({ user: "ben" });
    const his = openChat(ben, (await joinConversation(ben.client, token)).id);
    await expect
      .poll(() => shown(his), { timeout: 20_000 })
      .toEqual([
        ["Why?", "Name of ada"],
        ["Because", "Name of ada"],
      ]);
    expect(shown(hers).map(([, author]) => author)).toEqual(["me", "me"]);
  });

  test("A member edits a question of its own as a branch, and both see two versions", async () => {
    const { ada, ben, id } = await share();
    const [hers, his] = [openChat(ada, "trip"), openChat(ben, id)];
    await until(his, ({ isRestoring }) => !isRestoring);
    const { messages } = await his.send("Why?");
    await his.edit(messages[0]?.id ?? "", "Why not?");
    await expect
      .poll(
        () => hers.getThread().flatMap(({ message }) => (message.role === "user" ? message.content : [])),
        {
          timeout: 20_000,
        },
      )
      .toEqual(["Why?", "Why not?"]);
    expect(hers.getThread().every(({ message }) => message.author?.name === "Name of ben")).toBe(true);
  });
});

describe("a reader", () => {
  test("Each verb is not sent at once with an error that says why, and nothing leaves the page", async () => {
    const { ada, ben, id } = await share("read");
    const hers = openChat(ada, "trip");
    await hers.send("Why?");
    const his = openChat(ben, id);
    await until(his, ({ isReadOnly, messages }) => isReadOnly && messages.length === 2);
    ben.requests.length = 0;
    const [question] = his.getSnapshot().messages;
    for (const turn of [
      await his.send("No"),
      await his.retry(),
      await his.regenerate(),
      await his.edit(question?.id ?? "", "No"),
      await his.approve("any"),
    ])
      expect([turn.outcome, turn.error?.name]).toEqual(["not-sent", "ReadOnlyError"]);
    his.stop();
    his.setMessages([]);
    his.reset();
    expect(his.getSnapshot().messages).toHaveLength(2);
    expect(ben.requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
    expect(hers.getSnapshot()).toMatchObject({ isReadOnly: false, messages: [{}, {}] });
  });

  test("It sees an answer grow, ends it in no way, and knows that it may only read without a network", async () => {
    const { ada, ben, id } = await share("read");
    const hers = openChat(ada, "trip");
    const his = openChat(ben, id);
    await until(his, ({ isReadOnly }) => isReadOnly);
    await hers.send("Why?");
    await until(his, ({ messages }) => messages.at(-1)?.outcome === "complete");
    his.close();
    ben.goOffline();
    const offline = openChat({ ...ben, storage: ben.tab() }, id);
    await until(offline, ({ isReadOnly, messages }) => isReadOnly && messages.length === 2);
    expect((await offline.send("No")).error?.name).toBe("ReadOnlyError");
    expect(ben.requests.filter((request) => /leases|POST .*records/.test(request))).toEqual([]);
  });

  test("A record that reaches the server before it has said so is refused, and holds up no other chat", async () => {
    const { ben, id } = await share("read");
    const name = (of: string) => `"${ben.client.scope}"/chat/${of}`;
    const record = { message: { id: "a", role: "user", content: "a" }, parent: null, revision: 1 };
    await ben.storage.write(name(id), new Map([["a", record]]));
    await ben.storage.write(name("own"), new Map([["a", record]]));
    const errorOf = () =>
      ben.storage.status(name(id)).getSnapshot().error as { apiCode?: string } | undefined;
    await expect.poll(() => errorOf()?.apiCode, { timeout: 20_000 }).toBe("read_only");
    await expect
      .poll(() => ben.storage.status(name("own")).getSnapshot().unsent, { timeout: 20_000 })
      .toBe(0);
    const sent = () => ben.requests.filter((request) => request === `POST /v1/conversations/${id}/records`);
    expect(sent()).toHaveLength(1);
  });
});

describe("the end of a membership", () => {
  test("A member that is removed loses the copy, and the others go on", async () => {
    const { ada, ben, id } = await share();
    const [hers, his] = [openChat(ada, "trip"), openChat(ben, id)];
    await until(his, ({ isRestoring }) => !isRestoring);
    await hers.send("Why?");
    await until(his, ({ messages }) => messages.length === 2);
    const { members } = await listConversationMembers(ada.client, "trip");
    const [owner, member] = members;
    expect(members).toMatchObject([
      { id: "owner", name: "Name of ada", access: "owner" },
      { name: "Name of ben", access: "write" },
    ]);
    expect(owner).not.toHaveProperty("joinedAt");
    await removeConversationMember(ada.client, "trip", member?.id ?? "");
    await until(his, ({ messages }) => messages.length === 0);
    expect([...(await ben.local.read(`"${ben.client.scope}"/chat/${id}`)).keys()]).toEqual([]);
    expect((await hers.send("Still here?")).outcome).toBe("complete");
    await expect(listConversationMembers(ben.client, id)).rejects.toMatchObject({
      apiCode: "conversation_gone",
    });
    // the name goes, also in what is open
    await expect.poll(async () => (await listConversationMembers(ada.client, "trip")).members.length).toBe(1);
  });

  test("A link that is taken back is not in the list, and lets nobody in", async () => {
    const { ada, ben, link, id } = await share("read");
    const { token, ...listed } = link;
    expect((await listConversationMembers(ada.client, "trip")).links).toEqual([listed]);
    await removeConversationLink(ada.client, "trip", link.id);
    expect((await listConversationMembers(ada.client, "trip")).links).toEqual([]);
    const eve = server.device({ user: "eve" });
    await expect(joinConversation(eve.client, token)).rejects.toMatchObject({ apiCode: "link_unknown" });
    expect(await listConversationMembers(ben.client, id)).toMatchObject({ access: "read" });
    await expect(createConversationLink(ben.client, id, { access: "read" })).rejects.toMatchObject({
      apiCode: "read_only",
    });
  });
});

describe("a server that answers about members as it should not", () => {
  test.each([
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } }), "ResponseError"],
    ["JSON of another shape", () => Response.json([]), "ResponseError"],
    ["404 of nothing", () => new Response("", { status: 404 }), "APIError"],
    ["503", () => new Response("", { status: 503, headers: { "retry-after": "86400" } }), "APIError"],
  ])("%s once is an error of one call, and the next one works", async (_, answer, name) => {
    let isBroken = true;
    const ben = server.device({ user: "ben" });
    const { token } = await createConversationLink(server.device().client, "trip", { access: "write" });
    const client = server.device({
      user: "ben",
      fetch: async (request) => {
        if (isBroken) return answer();
        request.headers.set("origin", "https://app.example.com");
        request.headers.set("x-user", "ben");
        return server.answer(request);
      },
    }).client;
    await expect(joinConversation(client, token)).rejects.toMatchObject({ name });
    isBroken = false;
    expect((await joinConversation(client, token)).access).toBe("write");
    expect((await joinConversation(ben.client, token)).access).toBe("write");
  });
});
