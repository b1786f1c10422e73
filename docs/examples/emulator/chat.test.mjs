import { createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createChatStore } from "@sluice/stores";

const emulator = createEmulator({ speed: Infinity, chat: () => "7 metres" });
const client = createClient(emulator.clientOptions);
beforeEach(() => emulator.reset());

test("a response arrives in Jest", async () => {
  const chat = createChatStore(client, { model: "delta-5.3" });
  const { outcome } = await chat.send("How deep is the Elbe?");
  expect(outcome).toBe("complete");
  expect(chat.getSnapshot().messages.at(-1)?.content).toBe("7 metres");
});
