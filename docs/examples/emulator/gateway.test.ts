import { completeChat, createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

const emulator = createEmulator({ speed: Infinity });
const server = setupServer(
  http.all("https://gateway.example.com/*", ({ request }) => emulator.fetch(request)),
);
beforeAll(() => server.listen());
beforeEach(() => emulator.reset());
afterAll(() => server.close());

test("a response passes through MSW", async () => {
  const client = createClient({ baseURL: "https://gateway.example.com", apiKey: "sk-test" });
  const { message } = await completeChat(client, {
    model: "delta-5.3",
    messages: [{ role: "user", content: "Hello" }],
  });
  expect(message.content).not.toBe("");
});
