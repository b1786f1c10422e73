import { completeChat, createClient } from "@sluice/core";
import { afterEach, expect, test, vi } from "vitest";

/* A browser reports a refused origin as a failed connection. A page of this machine asks again, to tell them apart. */

afterEach(() => vi.unstubAllGlobals());

const chat = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

/** Sends a chat request from a page, through a network that lets some modes of `GET /health` pass. */
async function catchFailure(page: string, passes: readonly RequestMode[]) {
  const requested: string[] = [];
  vi.stubGlobal("location", new URL(page));
  vi.stubGlobal("fetch", async (address: string, { mode }: RequestInit) => {
    const { pathname } = new URL(address);
    if (pathname === "/health" && mode) requested.push(mode);
    if (pathname === "/health" && mode && passes.includes(mode)) return new Response("{}");
    throw new TypeError("Failed to fetch");
  });
  const client = createClient({
    baseURL: "https://api.test",
    retry: { limit: 0 },
    gateway: { includeUsage: false },
  });
  const error = await completeChat(client, chat).catch((error) => error);
  return { requested, error };
}

test("A reachable server whose responses the page may not read has refused its origin", async () => {
  const { error } = await catchFailure("http://localhost:5173/chat", ["no-cors"]);
  expect(error).toMatchObject({ name: "ConnectionError", reason: "origin-refused" });
  expect(error.message).toContain("list http://localhost:5173 in the proxy's `origins`");
});

test.each([
  ["a lost network", [] as const],
  ["a connection that broke at a server that allows the page", ["no-cors", "cors"] as const],
])("%s is no refused origin", async (_, passes) => {
  const { error } = await catchFailure("http://127.0.0.1:5173/chat", passes);
  expect(error).toMatchObject({ name: "ConnectionError" });
  expect(error.reason).toBeUndefined();
});

test("an app's own `fetch` is used alone: the platform's may reach another server", async () => {
  const fetchMock = vi.fn();
  vi.stubGlobal("location", new URL("http://localhost:5173/chat"));
  vi.stubGlobal("fetch", fetchMock);
  const fetch = () => Promise.reject(new TypeError("Failed to fetch"));
  const client = createClient({
    baseURL: "https://api.test",
    fetch,
    retry: { limit: 0 },
    gateway: { includeUsage: false },
  });
  const error = await completeChat(client, chat).catch((error) => error);
  expect(error).toMatchObject({ name: "ConnectionError" });
  expect(fetchMock).not.toHaveBeenCalled();
});

test("A page in production sends no extra request to the server", async () => {
  const { requested, error } = await catchFailure("https://app.test/chat", ["no-cors"]);
  expect(error.message).toContain("CORS may be the reason");
  expect(error.reason).toBeUndefined();
  expect(requested).toEqual([]);
});
