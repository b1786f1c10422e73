import { createClient, defineTool } from "@sluice/core";
import { createChatStore, memoryStorage } from "@sluice/stores";
import { remoteStorage, serverRunner } from "@sluice/sync";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { createModel } from "../server/support/model.js";
import { openServer, type ServerOptions, stopPostgres } from "../server/support/server.js";

afterAll(stopPostgres);

let devices = 0;

/** Opens devices of users at a server that runs in this process. */
async function open(options: ServerOptions = {}) {
  const model = createModel();
  const { proxy } = await openServer("SQLite", { gateway: model.gateway, ...options });
  return {
    model,
    openDevice(user: string, id = "trip") {
      devices += 1;
      const client = createClient({
        baseURL: "https://proxy.example",
        onEvent: () => {},
        headers: { authorization: user },
        fetch: async (request) => proxy.fetch(request, {}),
      });
      const storage = remoteStorage(client, { local: memoryStorage(), name: `real-${devices}` });
      const runner = serverRunner();
      const chat = createChatStore(client, { id, model: "delta-5.3", storage, runner });
      const unsubscribe = chat.subscribe(() => {});
      onTestFinished(async () => {
        unsubscribe();
        chat.close();
        await storage.clear?.("");
      });
      return { chat, storage };
    },
  };
}

const read = ({ chat }: { chat: ReturnType<typeof createChatStore> }) =>
  chat.getSnapshot().messages.map(({ content }) => content);

describe("With the sync server", () => {
  test("a turn runs on the server and grows on all devices of its user alone", async () => {
    const { model, openDevice } = await open({ turns: {} });
    const [phone, laptop, other] = [openDevice("ada"), openDevice("ada"), openDevice("bob")];
    const sent = phone.chat.send("Hello");
    const request = await model.next();
    request.text("Hi");
    await expect.poll(() => read(laptop)).toEqual(["Hello", "Hi"]);
    request.end("!");
    expect((await sent).outcome).toBe("complete");
    await expect.poll(() => read(laptop)).toEqual(["Hello", "Hi!"]);
    expect(laptop.chat.getSnapshot().status).toBe("ready");
    expect(read(phone)).toEqual(["Hello", "Hi!"]);
    expect(read(other)).toEqual([]);
    expect(model.count).toBe(1);
  });

  test("another device approves a call, and the server continues the turn", async () => {
    const tools = [
      defineTool({
        name: "mail",
        description: "Sends a mail",
        inputSchema: { type: "object" },
        needsApproval: true,
        execute: () => "sent",
      }),
    ];
    const { model, openDevice } = await open({ turns: { tools } });
    const [phone, laptop] = [openDevice("ada"), openDevice("ada")];
    void phone.chat.send("Mail it");
    (await model.next()).call({ id: "c1", name: "mail", arguments: {} });
    await expect.poll(() => laptop.chat.getSnapshot().status).toBe("requires-action");
    const approved = laptop.chat.approve("c1");
    (await model.next()).end("Done");
    expect((await approved).outcome).toBe("complete");
    await expect.poll(() => read(phone)).toEqual(["Mail it", "", "Done"]);
    expect(phone.chat.getSnapshot().messages[1]?.toolCalls).toMatchObject([
      { state: "done", output: "sent" },
    ]);
    await expect.poll(() => phone.chat.getSnapshot().status).toBe("ready");
  });

  test("stop() on another device ends the turn everywhere", async () => {
    const { model, openDevice } = await open({ turns: {} });
    const [phone, laptop] = [openDevice("ada"), openDevice("ada")];
    const sent = phone.chat.send("Hello");
    (await model.next()).text("Hi");
    await expect.poll(() => laptop.chat.getSnapshot().status).toBe("streaming");
    laptop.chat.stop();
    expect((await sent).outcome).toBe("stopped");
    await expect.poll(() => laptop.chat.getSnapshot().messages[1]?.outcome).toBe("stopped");
  });

  test("a chat with messages of server turns can be emptied", async () => {
    const { model, openDevice } = await open({ turns: {} });
    const [phone, laptop] = [openDevice("ada"), openDevice("ada")];
    const sent = phone.chat.send("Hello");
    (await model.next()).end("Hi");
    await sent;
    await expect.poll(() => read(laptop)).toEqual(["Hello", "Hi"]);
    laptop.chat.reset();
    await expect.poll(() => read(phone)).toEqual([]);
    await expect.poll(() => laptop.storage.status.getSnapshot()).toEqual({ status: "saved", pending: 0 });
  });
});
