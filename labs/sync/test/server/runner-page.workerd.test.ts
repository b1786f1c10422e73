import { env } from "cloudflare:workers";
import { createClient, type Tool } from "@sluice/core";
import { type ChatStore, createChatStore } from "@sluice/stores";
import { serverRunner } from "@sluice/sync";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gateway, refusal } from "../../../../packages/durable/test/support/durable-gateway.js";
import { pageStorage } from "./support/page-storage.js";
import { calls, proxy, runs, says, script, tool } from "./support/runs.js";

let users = 0;
let user = "";
let leave: (() => void)[] = [];

beforeEach(() => {
  user = `page-${++users}`;
  runs.reset();
  vi.spyOn(console, "error").mockImplementation(() => {});
  script(() => says("Hello"));
});
afterEach(() => {
  for (const close of leave) close();
  leave = [];
  vi.restoreAllMocks();
});

/** Opens a page of the user. `pass` may change its answers. */
function openPage(
  device: string,
  tools: readonly Tool[] = [],
  pass: (request: Request, response: Response) => Response = (_, response) => response,
): ChatStore {
  const send = async (request: Request) => {
    const signed = new Request(request);
    signed.headers.set("authorization", user);
    return pass(request, await proxy.fetch(signed, env));
  };
  const baseURL = "https://proxy.example";
  const client = createClient({ baseURL, fetch: send, onEvent: () => {} });
  const storage = pageStorage((path, init) => send(new Request(baseURL + path, init)), "c-1", device);
  leave.push(() => storage.leave());
  const chat = createChatStore(client, {
    model: "delta-5.3",
    id: "c-1",
    storage,
    tools,
    runner: serverRunner(),
  });
  leave.push(chat.subscribe(() => {}));
  return chat;
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

/** Keeps what a device follows back until `open`. */
function gateOfNews() {
  const { open, opened } = gate();
  let posted = 0;
  return {
    open,
    /** Number of turns that the device has handed over, and that were answered. */
    posted: () => posted,
    pass(request: Request, response: Response): Response {
      if (request.method === "POST" && request.url.endsWith("/turns")) posted += 1;
      if (!request.url.includes("/follow") || !response.body) return response;
      const transform = async (chunk: Uint8Array, controller: TransformStreamDefaultController) => {
        await opened;
        controller.enqueue(chunk);
      };
      return new Response(response.body.pipeThrough(new TransformStream({ transform })), response);
    },
  };
}

const texts = (chat: ChatStore) => chat.getSnapshot().messages.map(({ content }) => content);

describe("a chat that runs on the server", () => {
  test("`send` hands the message over, and resolves with the answer of the server", async () => {
    const phone = openPage("phone");
    const laptop = openPage("laptop");
    const turn = await phone.send("Hi");
    expect(turn).toMatchObject({ outcome: "complete", messages: [{ content: "Hi" }, { content: "Hello" }] });
    expect(phone.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    await expect.poll(() => texts(laptop)).toEqual(["Hi", "Hello"]);
    expect(gateway.requests).toHaveLength(1);
    expect((await laptop.send("And?")).outcome).toBe("complete");
    expect(texts(laptop)).toEqual(["Hi", "Hello", "And?", "Hello"]);
  });

  test("An approval on another device continues the turn of the first", async () => {
    runs.tools = [tool("pay", async () => "paid", { needsApproval: true })];
    script(
      () => calls("pay"),
      () => says("Done"),
    );
    const phone = openPage("phone");
    const laptop = openPage("laptop");
    expect(await phone.send("Pay")).toMatchObject({ outcome: "tool-calls" });
    expect(phone.getSnapshot().status).toBe("requires-action");
    await expect.poll(() => laptop.getSnapshot().pendingActions).toHaveLength(1);
    expect(await laptop.approve("call-0")).toMatchObject({ outcome: "complete" });
    await expect.poll(() => texts(phone)).toEqual(["Pay", "", "Done"]);
  });

  test("A tool of the page runs in one of the open pages", async () => {
    runs.tools = [tool("locate")];
    script(
      () => calls("locate"),
      () => says("Rome"),
    );
    let ran = 0;
    const locate = () => tool("locate", async () => ({ city: "Rome", ran: ++ran }));
    const phone = openPage("phone", [locate()]);
    openPage("laptop", [locate()]);
    await phone.send("Where?");
    await expect.poll(() => texts(phone)).toEqual(["Where?", "", "Rome"]);
    expect(ran).toBe(1);
  });

  test("A tool of the page gets what its schema makes of the arguments, and does not run for others", async () => {
    runs.tools = [tool("locate")];
    script(
      () => calls("locate"),
      () => says("Rome"),
    );
    const inputs: unknown[] = [];
    const schemaOf = (validate: (value: unknown) => object) =>
      ({ "~standard": { version: 1, vendor: "test", validate } }) as never;
    const locate = (validate: (value: unknown) => object) => ({
      ...tool("locate", async (input) => ({ city: "Rome", number: inputs.push(input) })),
      schema: schemaOf(validate),
    });
    const phone = openPage("phone", [locate(() => ({ value: { near: "Rome" } }))]);
    await phone.send("Where?");
    await expect.poll(() => texts(phone)).toEqual(["Where?", "", "Rome"]);
    expect(inputs).toEqual([{ near: "Rome" }]);
    phone.close();
    script(
      () => calls("locate"),
      () => says("Nowhere"),
    );
    const laptop = openPage("laptop", [locate(() => ({ issues: [{ message: "not a place" }] }))]);
    await laptop.send("And now?");
    await expect.poll(() => texts(laptop).at(-1)).toBe("Nowhere");
    expect(inputs).toHaveLength(1);
    expect(JSON.stringify(laptop.getSnapshot().messages)).toContain("the arguments do not fit: not a place");
  });

  test("A failed answer ends the turn with its error, and `retry` asks the server again", async () => {
    script(() => refusal(400));
    const phone = openPage("phone");
    const failed = await phone.send("Hi");
    expect(failed).toMatchObject({ outcome: "error", error: { message: expect.any(String) } });
    expect(phone.getSnapshot().status).toBe("error");
    for (const message of ["Worse", "Worse still"]) {
      script(() => refusal(400, {}, message));
      expect(await phone.retry()).toMatchObject({ error: { message: expect.stringContaining(message) } });
    }
    script(() => says("Better"));
    expect(await phone.retry()).toMatchObject({ outcome: "complete" });
    expect(texts(phone)).toEqual(["Hi", "Better"]);
    expect(await phone.retry()).toMatchObject({ outcome: "not-sent" });
  });

  test.each([
    ["failed", "`retry`", (page: ChatStore) => page.retry(), () => refusal(400)],
    ["is whole", "`regenerate`", (page: ChatStore) => page.regenerate(), () => says("First")],
  ])(
    "Below an answer that %s, %s of two devices at once is one turn, and a later one is another",
    async (_, __, again, first) => {
      script(first);
      const [phone, laptop] = [openPage("phone"), openPage("laptop")];
      await phone.send("Hi");
      await expect.poll(() => laptop.getSnapshot().messages[1]?.outcome).toBeDefined();
      script(() => says("Second"));
      const both = await Promise.all([again(phone), again(laptop)]);
      expect(both.map(({ outcome, error }) => [outcome, error])).toEqual(
        Array(2).fill(["complete", undefined]),
      );
      expect([texts(phone), texts(laptop)]).toEqual(Array(2).fill(["Hi", "Second"]));
      expect([gateway.requests.length, runs.events.length]).toEqual([1, 2]);
      for (const [turns, text] of [
        [3, "Third"],
        [4, "Fourth"],
      ] as const) {
        script(() => says(text));
        expect(await laptop.regenerate()).toMatchObject({ outcome: "complete" });
        await expect.poll(() => texts(phone)).toEqual(["Hi", text]);
        expect([gateway.requests.length, runs.events.length]).toEqual([1, turns]);
      }
    },
  );

  test("A device that has not learnt of another one's `retry` follows that, also after its end", async () => {
    script(() => refusal(400));
    const phone = openPage("phone");
    await phone.send("Hi");
    const news = gateOfNews();
    const laptop = openPage("laptop", [], news.pass);
    await expect.poll(() => laptop.getSnapshot().messages[1]?.outcome).toBe("error");
    script(() => refusal(400, {}, "Worse"));
    expect(await phone.retry()).toMatchObject({ error: { message: expect.stringContaining("Worse") } });
    const asked = laptop.retry();
    await expect.poll(() => news.posted()).toBe(1);
    news.open();
    expect(await asked).toMatchObject({ error: { message: expect.stringContaining("Worse") } });
    expect([gateway.requests.length, runs.events.length]).toEqual([1, 2]);
    script(() => says("Better"));
    expect(await laptop.retry()).toMatchObject({ outcome: "complete" });
    expect([gateway.requests.length, runs.events.length]).toEqual([1, 3]);
  });

  test("A turn that is stopped before anything is sent ends on its device, and `retry` is another turn", async () => {
    const begun = gate();
    const late = gate();
    runs.instructions = () => {
      begun.open();
      return late.opened.then(() => "Be brief.");
    };
    const [phone, laptop] = [openPage("phone"), openPage("laptop")];
    const turn = phone.send("Hi");
    await begun.opened;
    laptop.stop();
    expect(await turn).toMatchObject({ outcome: "stopped" });
    expect(phone.getSnapshot()).toMatchObject({
      status: "ready",
      messages: [{ error: { name: "AbortError" } }],
    });
    expect(gateway.requests).toHaveLength(0);
    late.open();
    expect(await phone.retry()).toMatchObject({ outcome: "complete" });
    expect([texts(phone), gateway.requests.length]).toEqual([["Hi", "Hello"], 1]);
  });

  test("`regenerate` and `edit` add versions", async () => {
    const phone = openPage("phone");
    const { messages } = await phone.send("Hi");
    script(() => says("Again"));
    expect(await phone.regenerate()).toMatchObject({ outcome: "complete" });
    expect(texts(phone)).toEqual(["Hi", "Again"]);
    script(() => says("Edited"));
    expect(await phone.edit(messages[0]?.id ?? "", "Hey")).toMatchObject({ outcome: "complete" });
    expect(texts(phone)).toEqual(["Hey", "Edited"]);
    expect(phone.getSnapshot().messages[0]?.branches).toHaveLength(2);
  });

  test("A message while the server answers another one is not sent, and is not in the chat", async () => {
    let isOpen = true;
    gateway.answers(async () => {
      while (isOpen) await new Promise((resolve) => setTimeout(resolve, 1));
      return says("Late");
    });
    const phone = openPage("phone");
    const first = phone.send("One");
    await expect.poll(() => gateway.requests.length).toBe(1);
    expect(phone.getSnapshot().status).toBe("submitted");
    expect(await phone.send("Two")).toMatchObject({ outcome: "not-sent", messages: [] });
    isOpen = false;
    expect(await first).toMatchObject({ outcome: "complete" });
    expect(texts(phone)).toEqual(["One", "Late"]);
  });

  test("`stop` ends the turn from another device", async () => {
    gateway.answers(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const phone = openPage("phone");
    const laptop = openPage("laptop");
    const turn = phone.send("One");
    await expect.poll(() => texts(laptop)[0]).toBe("One");
    await expect.poll(() => gateway.requests.length).toBe(1);
    laptop.stop();
    expect(await turn).toMatchObject({ outcome: "stopped" });
  });
});
