import { completeChat, createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { expect, test } from "vitest";

/* Tests of components run with a DOM, where the client refuses an API key. */

const request = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

test.each([
  ["without a key", createEmulator({ speed: Number.POSITIVE_INFINITY })],
  ["with a key", createEmulator({ speed: Number.POSITIVE_INFINITY, apiKeys: ["sk-test-key"] })],
])("an emulator %s is used in a page without a flag", async (_, emulator) => {
  expect(navigator.userAgent).toMatch(/^Mozilla/);
  const { message } = await completeChat(createClient(emulator.clientOptions), request);
  expect(message.content).not.toBe("");
});
