import { type ChatStorage, memoryStorage } from "@sluice/stores";
import { expect, test } from "vitest";
import { settled } from "../../core/test/support/gateway.js";
import { readStored } from "./support/tabs.js";

test("a chat reads 10,000 messages in one call, and writes them in two", async () => {
  const inner = memoryStorage();
  const calls: string[] = [];
  const storage: ChatStorage = {
    ...inner,
    read(collection) {
      calls.push("read");
      return inner.read(collection);
    },
    write(collection, records) {
      calls.push("write");
      return inner.write(collection, records);
    },
  };
  const initialMessages = Array.from({ length: 10_000 }, (_, index) => ({
    id: `m${index}`,
    role: index % 2 ? ("assistant" as const) : ("user" as const),
    content: `${index}`,
  }));
  const first = await readStored(storage, { initialMessages });
  first.chat.setMessages(initialMessages);
  await settled();
  const second = await readStored(storage);
  expect(second.listTexts()).toHaveLength(10_000);
  expect(second.listTexts()).toEqual(first.listTexts());
  expect(calls).toEqual(["read", "write", "read"]);
});
