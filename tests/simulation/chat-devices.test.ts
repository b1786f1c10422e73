import type { ChatMessage, ChatStore } from "@sluice/stores";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { loadDevices } from "./bundle.ts";
import type { DeviceSimulation, DeviceTab } from "./device-simulation.js";
import type { ProxyMode } from "./proxy.js";

let built: Awaited<ReturnType<typeof loadDevices>>;
beforeAll(async () => {
  built = await loadDevices();
}, 120_000);

let simulation: DeviceSimulation | undefined;
afterEach(() => simulation?.restore());

const HOUR_MS = 3_600_000;

/** Opens a simulation with one page on each device, and waits until they have read. */
async function createDevices({
  clocks = [0, 0],
  proxy = "kept",
}: {
  clocks?: readonly number[];
  proxy?: ProxyMode;
} = {}) {
  const created = built.createDeviceSimulation({ seed: 1, clocks, proxy });
  simulation = created;
  const tabs = clocks.map((_, nth) => created.open(nth)) as [DeviceTab, DeviceTab, DeviceTab];
  await wait(1000);
  return { simulation: created, tabs };
}

function wait(ms: number): Promise<void> {
  const { timeline } = simulation as DeviceSimulation;
  return timeline.runUntil(timeline.now() + ms);
}

/** Advances the time until a condition holds, for at most a minute. */
async function waitUntil(isSo: () => boolean): Promise<void> {
  for (let ms = 0; ms < 60_000 && !isSo(); ms += 20) await wait(20);
}

/** Calls a verb in the page of a tab. The result is there once time has passed. */
function call<T>({ page, chat }: DeviceTab, verb: (chat: ChatStore) => Promise<T>) {
  const settled: { result?: T } = {};
  page
    .run(() => verb(chat))
    .then(
      (result) => Object.assign(settled, { result }),
      () => {},
    );
  return settled;
}

const listShown = ({ chat }: DeviceTab) => chat.getSnapshot().messages;
const getLast = (tab: DeviceTab) => listShown(tab).at(-1) as ChatMessage;
const listContents = (tab: DeviceTab) => listShown(tab).map(({ content }) => content);
const countBilled = () => (simulation as DeviceSimulation).gateway.calls.filter(({ isBilled }) => isBilled);
const LONG = "A long one [long]";

describe("A chat on two devices", () => {
  test("shows on one device the answer that the other one streams, from its start and as it grows", async () => {
    const {
      tabs: [one, other],
    } = await createDevices();
    const turn = call(one, (chat) => chat.send(LONG));
    await waitUntil(() => !!getLast(other)?.content.startsWith("Answer"));
    const early = getLast(other).content;
    expect(early).toMatch(/^Answer to/);
    expect(other.chat.getSnapshot()).toMatchObject({ isRunningElsewhere: true, status: "ready" });
    expect(one.chat.getSnapshot().isRunningElsewhere).toBe(false);
    await wait(300);
    expect(getLast(other).content.length).toBeGreaterThan(early.length);
    await wait(20_000);
    expect(turn.result?.outcome).toBe("complete");
    expect(getLast(other)).toMatchObject({
      outcome: "complete",
      content: getLast(one).content,
      origin: "another-device",
    });
    expect(getLast(one).origin).toBeUndefined();
    expect(other.chat.getSnapshot()).toMatchObject({ isRunningElsewhere: false, isSyncing: false });
    expect(countBilled()).toHaveLength(1);
  });

  test("keeps both messages that two devices send at once as branches, and each shows its own", async () => {
    const {
      tabs: [one, other, third],
    } = await createDevices({ clocks: [0, 12 * HOUR_MS, -5 * HOUR_MS] });
    call(one, (chat) => chat.send("Hello"));
    await wait(5000);
    call(one, (chat) => chat.send("From one"));
    call(other, (chat) => chat.send("From the other"));
    await wait(10_000);
    expect(listContents(one)).toContain("From one");
    expect(listContents(other)).toContain("From the other");
    for (const tab of [one, other, third]) {
      const thread = tab.chat.getThread().map(({ message }) => message);
      const sent = thread.filter(({ content }) => content.startsWith("From"));
      expect(sent).toHaveLength(2);
      expect(new Set(sent[0]?.branches)).toEqual(new Set(sent.map(({ id }) => id)));
      expect(thread.filter(({ outcome }) => outcome === "complete")).toHaveLength(3);
    }
  });

  test("runs a tool once that both devices approve at once", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    call(one, (chat) => chat.send("Go [guarded]"));
    await wait(5000);
    for (const tab of [one, other]) {
      const [action] = tab.chat.getSnapshot().pendingActions;
      call(tab, (chat) => chat.approve(action?.toolCallId ?? "none"));
    }
    await wait(10_000);
    expect(simulation.toolRuns).toHaveLength(1);
    expect(countBilled()).toHaveLength(2);
    expect(getLast(other)).toMatchObject({ outcome: "complete", content: getLast(one).content });
  });

  test("repeats a failed answer once where both devices retry at once", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices({ proxy: "absent" });
    simulation.network.arm("broken", 2);
    call(one, (chat) => chat.send("Hello"));
    await wait(5000);
    const turns = [one, other].map((tab) => call(tab, (chat) => chat.retry()));
    await wait(10_000);
    expect(countBilled()).toHaveLength(2);
    expect(turns.map(({ result }) => result?.outcome).sort()).toEqual(["complete", "not-sent"]);
    const [own, foreign] = [one, other].map(({ chat }) =>
      chat.getThread().map(({ message }) => message.content),
    );
    expect(foreign).toEqual(own);
  });

  test("sends a queued message once, whichever device is there", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    call(one, (chat) => chat.send(LONG));
    call(one, (chat) => chat.send("Queued"));
    await wait(500);
    expect(other.chat.getSnapshot().queued).toMatchObject([{ content: "Queued" }]);
    simulation.close(one);
    // the dead device's lock ends, the message is resumed, and the queue follows
    await wait(90_000);
    expect(listContents(other)).toEqual([
      LONG,
      expect.stringContaining(LONG),
      "Queued",
      expect.stringContaining("Queued"),
    ]);
    expect(countBilled()).toHaveLength(2);
  });
});

describe("A queue that waits for the user", () => {
  /** Opens devices with a message queued on the first one, behind a failed reply. */
  async function openWaiting() {
    const opened = await createDevices({ proxy: "absent" });
    opened.simulation.network.arm("broken", 2);
    call(opened.tabs[0], (chat) => chat.send("Hello"));
    call(opened.tabs[0], (chat) => chat.send("Queued"));
    await wait(60_000);
    expect(opened.tabs.map(({ chat }) => chat.getSnapshot().queued)).toMatchObject([
      [{ content: "Queued" }],
      [{ content: "Queued" }],
    ]);
    return opened;
  }

  test("asks the server for no lease, however long its pages are open", async () => {
    const { simulation } = await openWaiting();
    const { requests } = simulation.countOnServer();
    await wait(HOUR_MS);
    expect(simulation.countOnServer()).toMatchObject({ requests, leases: 0 });
  });

  test("is sent once after the retry that both devices press at once", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await openWaiting();
    await wait(HOUR_MS);
    call(one, (chat) => chat.retry());
    call(other, (chat) => chat.retry());
    await wait(60_000);
    const listSent = (tab: DeviceTab) => listContents(tab).filter((content) => content === "Queued");
    expect([one, other].map(listSent)).toEqual([["Queued"], ["Queued"]]);
    expect([one, other].map(({ chat }) => chat.getSnapshot().queued)).toEqual([[], []]);
    // the interrupted reply and one retry are billed
    expect(simulation.gateway.calls.filter(({ isBilled }) => isBilled)).toHaveLength(3);
  });

  test("follows the next turn that ends well on its own device", async () => {
    const {
      tabs: [one, other],
    } = await openWaiting();
    await wait(HOUR_MS);
    call(one, (chat) => chat.retry());
    await wait(60_000);
    for (const tab of [one, other])
      expect(listContents(tab).slice(-2)).toEqual(["Queued", expect.stringContaining("Queued")]);
    expect(getLast(one).outcome).toBe("complete");
  });
});

describe("A stop from anywhere", () => {
  test("ends the answer of another device, and what the proxy reads of it", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    const turn = call(one, (chat) => chat.send(LONG));
    await waitUntil(() => !!getLast(other)?.content.startsWith("Answer"));
    other.page.run(() => other.chat.stop());
    await wait(5000);
    expect(turn.result?.outcome).toBe("stopped");
    expect(getLast(one)).toMatchObject({ outcome: "stopped", content: getLast(other).content });
    expect(getLast(one).content).toMatch(/^Answer to/);
    const deleted = simulation.network.exchanges.filter(({ method }) => method === "DELETE");
    expect(deleted.length).toBeGreaterThan(0);
  });

  test("ends a tool that runs on another device, and requests nothing more", async () => {
    const {
      tabs: [one, other],
    } = await createDevices();
    const turn = call(one, (chat) => chat.send("Go [slow]"));
    await wait(3000);
    other.page.run(() => other.chat.stop());
    await wait(20_000);
    expect(turn.result?.outcome).toBe("stopped");
    expect(getLast(one).toolCalls).toMatchObject([{ state: "cancelled" }]);
    expect(countBilled()).toHaveLength(1);
  });

  test("holds where the device that began is gone: nobody reads the answer on", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    call(one, (chat) => chat.send(LONG));
    await waitUntil(() => getLast(other)?.streamId !== undefined);
    simulation.close(one);
    other.page.run(() => other.chat.stop());
    await wait(120_000);
    expect(getLast(other).outcome).toBe("stopped");
    expect(other.chat.getSnapshot().isRunningElsewhere).toBe(false);
  });

  test("is not asked for by a page that is closed: calls wait on for the other devices", async () => {
    const {
      tabs: [one, other],
    } = await createDevices();
    call(one, (chat) => chat.send("Go [guarded]"));
    await wait(5000);
    other.close();
    await wait(5000);
    expect(one.chat.getSnapshot().pendingActions).toHaveLength(1);
  });
});

describe("A device that is cut off", () => {
  /** Cuts a device off that has a message in its queue. */
  async function cutOffWithQueued() {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    call(one, (chat) => chat.send(LONG));
    const queued = call(one, (chat) => chat.send("Queued"));
    await wait(500);
    simulation.setOnline(one.device, false);
    return { simulation, one, other, queued };
  }

  test("keeps its answer while its lock lasts, and another one reads it on after that", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    call(one, (chat) => chat.send(LONG));
    await wait(400);
    simulation.close(one);
    const text = getLast(other).content;
    await wait(20_000);
    expect(getLast(other)).toMatchObject({ content: text });
    expect(getLast(other).outcome).toBeUndefined();
    await wait(30_000);
    expect(getLast(other).outcome).toBe("complete");
    expect(countBilled()).toHaveLength(1);
  });

  test("learns that another one has sent its queued message: the turn does not count as unsent", async () => {
    const { simulation, one, other, queued } = await cutOffWithQueued();
    await wait(90_000);
    expect(listContents(other)).toContain("Queued");
    expect(queued.result).toBeUndefined();
    simulation.setOnline(one.device, true);
    await wait(10_000);
    expect(queued.result).toMatchObject({ outcome: "truncated", error: { name: "ElsewhereError" } });
    expect(listContents(one)).toEqual(listContents(other));
    expect(countBilled()).toHaveLength(2);
  });

  test("stops a queued message for all devices where it is back before its lock has ended", async () => {
    const { simulation, one, other, queued } = await cutOffWithQueued();
    await wait(5000);
    one.page.run(() => one.chat.stop());
    await wait(5000);
    expect(queued.result).toMatchObject({ outcome: "not-sent", error: { name: "AbortError" } });
    simulation.setOnline(one.device, true);
    await wait(120_000);
    for (const tab of [one, other]) {
      expect(tab.chat.getSnapshot().queued).toEqual([]);
      expect(listContents(tab)).not.toContain("Queued");
    }
    expect(countBilled()).toHaveLength(1);
  });

  test("says of a queued message that it stops then: another device may still send it", async () => {
    const { simulation, one, other, queued } = await cutOffWithQueued();
    // it notices the outage when it renews its lock
    await wait(25_000);
    one.page.run(() => one.chat.stop());
    await wait(70_000);
    expect(queued.result?.error?.message).toMatch(/another device may still send it/);
    expect(one.chat.getSnapshot()).toMatchObject({ queued: [], syncError: expect.any(Error) });
    expect(listContents(other)).toContain("Queued");
    simulation.setOnline(one.device, true);
    await wait(10_000);
    expect(listContents(one)).toEqual(listContents(other));
    expect(countBilled()).toHaveLength(2);
  });

  test("goes on with nothing that another one has gone on with", async () => {
    const {
      simulation,
      tabs: [one, other],
    } = await createDevices();
    const turn = call(one, (chat) => chat.send("Go [quick]"));
    await waitUntil(() => getLast(other)?.streamId !== undefined);
    one.page.state = "frozen";
    await wait(60_000);
    expect(getLast(other).outcome).toBe("complete");
    one.page.thaw();
    one.device.goOnline();
    await wait(60_000);
    expect(turn.result?.outcome).not.toBe("complete");
    expect(simulation.toolRuns).toHaveLength(1);
    expect(countBilled()).toHaveLength(2);
    expect(listContents(one)).toEqual(listContents(other));
  });

  test("shows its new message after a week, and its old copies replace nothing", async () => {
    const {
      tabs: [phone, laptop],
    } = await createDevices({ clocks: [-9 * HOUR_MS, 0] });
    call(laptop, (chat) => chat.send("Go [asked]"));
    await wait(5000);
    const [action] = laptop.chat.getSnapshot().pendingActions;
    simulation?.setOnline(phone.device, false);
    call(laptop, (chat) => chat.addToolOutput(action?.toolCallId ?? "none", "yes"));
    await wait(5000);
    call(phone, (chat) => chat.send("From the phone"));
    await wait(7 * 24 * HOUR_MS);
    call(laptop, (chat) => chat.send("From the laptop"));
    await wait(5000);
    simulation?.setOnline(phone.device, true);
    await wait(60_000);
    for (const { chat } of [phone, laptop]) {
      const thread = chat.getThread().map(({ message }) => message);
      expect(thread.map(({ content }) => content)).toEqual(
        expect.arrayContaining(["From the phone", "From the laptop"]),
      );
      expect(thread.flatMap(({ toolCalls = [] }) => toolCalls)).toMatchObject([
        { state: "done", output: "yes" },
      ]);
    }
  });

  test("brings back nothing that another one has removed, and nothing comes back to it", async () => {
    const {
      tabs: [phone, laptop],
    } = await createDevices();
    call(phone, (chat) => chat.send("Hello"));
    await wait(5000);
    simulation?.setOnline(phone.device, false);
    laptop.page.run(() => laptop.chat.reset());
    await wait(1000);
    call(phone, (chat) => chat.send("Later"));
    await wait(HOUR_MS);
    simulation?.setOnline(phone.device, true);
    await wait(10_000);
    expect(listContents(phone)).toEqual(listContents(laptop));
    expect(listContents(laptop)[0]).toBe("Later");
  });
});

describe("The server of a chat", () => {
  test("loses an answer about a lock, and the turn goes on", async () => {
    const {
      tabs: [one, other],
    } = await createDevices();
    one.device.answersLost = 3;
    const turn = call(one, (chat) => chat.send(LONG));
    await wait(20_000);
    expect(turn.result?.outcome).toBe("complete");
    expect(getLast(other).outcome).toBe("complete");
    expect(countBilled()).toHaveLength(1);
  });

  test("can't be reached, and the chat works, says what is not sent, and sends it later", async () => {
    const {
      tabs: [one, other],
    } = await createDevices();
    one.device.isOnline = false;
    const turn = call(one, (chat) => chat.send("Go [quick]"));
    await wait(20_000);
    expect(turn.result?.outcome).toBe("complete");
    expect(one.chat.getSnapshot()).toMatchObject({
      isSyncing: true,
      unsaved: 0,
      syncError: expect.any(Error),
    });
    expect(listShown(other)).toEqual([]);
    one.device.goOnline();
    await wait(5000);
    expect(one.chat.getSnapshot()).toMatchObject({ isSyncing: false, syncError: undefined });
    expect(listContents(other)).toEqual(listContents(one));
  });

  test("is asked as often for a turn in a long thread as for one in an empty one", async () => {
    const {
      simulation,
      tabs: [one],
    } = await createDevices();
    const count = async (question: string) => {
      const before = simulation.countOnServer();
      call(one, (chat) => chat.send(question));
      await wait(10_000);
      const { requests, writes } = simulation.countOnServer();
      return { records: writes - before.writes, leases: requests - before.requests };
    };
    const first = await count("First");
    one.page.run(() =>
      one.chat.setMessages(Array.from({ length: 2000 }, (_, nth) => ({ role: "user", content: `${nth}` }))),
    );
    await wait(60_000);
    expect(await count("Later")).toEqual(first);
  });

  test("writes a message of its own, which says so", async () => {
    const {
      simulation,
      tabs: [one],
    } = await createDevices();
    const message = { role: "assistant", content: "By night", outcome: "complete", createdAt: 1 };
    simulation.writeOnServer("night", { message, parent: null, revision: 1, by: "server" });
    await wait(1000);
    expect(getLast(one)).toMatchObject({ content: "By night", origin: "server" });
  });
});
