import { nodeHost } from "@sluice/durable/node";
import { memoryStorage } from "@sluice/stores";
import { expect, onTestFinished, test } from "vitest";
import { openDevice } from "../../../../examples/devices/device.js";
import { openProxy } from "../../../../examples/devices/proxy.js";

test("examples/devices: a conversation is on both devices of its user, and stays on the server after a sign-out", async () => {
  const host = nodeHost({ file: ":memory:" });
  const proxy = openProxy(host);
  // devices ask the server until their network ends
  const ended = new AbortController();
  const served: Promise<Response>[] = [];
  onTestFinished(async () => {
    ended.abort();
    await Promise.allSettled(served);
    await host.close(100);
  });
  const fetch = async (request: Request) => {
    ended.signal.throwIfAborted();
    const signal = AbortSignal.any([request.signal, ended.signal]);
    const response = proxy.fetch(new Request(request, { signal }), {});
    served.push(response);
    return response;
  };
  const open = (user: string, name: string) => openDevice(user, { name, local: memoryStorage(), fetch });
  const [phone, laptop, bob] = [open("ada", "phone"), open("ada", "laptop"), open("bob", "other")];
  const chats = [phone, laptop, bob].map((device) => device.openChat("trip"));
  const unsubscribes = chats.map((chat) => chat.subscribe(() => {}));
  const [onPhone, onLaptop, ofBob] = chats;
  expect((await onPhone?.send("Where to?"))?.outcome).toBe("complete");
  await expect.poll(() => onLaptop?.getSnapshot().messages.at(-1)?.outcome).toBe("complete");
  expect(onLaptop?.getSnapshot().messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(ofBob?.getSnapshot().messages).toEqual([]);
  await expect.poll(() => phone.describeSync()).toBe("in sync");
  expect(await phone.leave()).toBe(0);
  expect(onPhone?.getSnapshot().messages).toEqual([]);
  const again = open("ada", "phone again");
  expect((await again.storage.read('"ada"/chat/trip')).size).toBe(0);
  await again.storage.sync("chat/trip");
  expect((await again.storage.read('"ada"/chat/trip')).size).toBe(2);
  for (const unsubscribe of unsubscribes) unsubscribe();
  for (const { storage } of [laptop, bob, again]) await storage.clear?.("");
});
