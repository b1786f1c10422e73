import { afterEach, expect, test, vi } from "vitest";

/* A page loads some code only when it needs it. Where the network is gone by then, what the page says stays true. */

afterEach(() => {
  vi.doUnmock("../src/transport/repeat.js");
  vi.resetModules();
});

/** Returns the core as a page has it whose network went away before the first request. */
async function offlineCore(): Promise<typeof import("@sluice/core")> {
  vi.resetModules();
  vi.doMock("../src/transport/repeat.js", () => {
    throw new TypeError("Failed to fetch dynamically imported module");
  });
  return import("@sluice/core");
}

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] } as const;

test.each([
  ["connect ECONNREFUSED 127.0.0.1:80", "not-sent"],
  ["getaddrinfo ENOTFOUND gateway.test", "not-sent"],
  ["Connection refused", "not-sent"],
  ["connect EHOSTUNREACH", "not-sent"],
  ["connect ENETUNREACH", "not-sent"],
  ["Failed to fetch", "unknown"],
])("a request that failed with %j is %s, also where no more code can be loaded", async (message, outcome) => {
  const { completeChat, createClient } = await offlineCore();
  const client = createClient({
    baseURL: "https://gateway.test",
    fetch: () => Promise.reject(new TypeError("fetch failed", { cause: new Error(message) })),
  });
  await expect(completeChat(client, question)).rejects.toMatchObject({ name: "ConnectionError", outcome });
});

test("a refusal keeps its status where its words can't be read", async () => {
  const { completeChat, createClient } = await offlineCore();
  const client = createClient({
    baseURL: "https://gateway.test",
    fetch: async () => Response.json({ error: { message: "No." } }, { status: 403 }),
  });
  await expect(completeChat(client, question)).rejects.toMatchObject({
    name: "APIError",
    status: 403,
    outcome: "refused",
  });
});
