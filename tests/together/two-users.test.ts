import { completeChat, createClient, streamChat } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createProxy } from "@sluice/worker-proxy";
import { expect, test } from "vitest";

/* A page after a change of users: the cookie belongs to the new user, and the stored data to the previous user. */

const messages = [{ role: "user", content: "Hello" }] as const;

/** A proxy before a gateway; `signedIn` is the user of the cookie. */
function createTestProxy(signedIn: () => string | "public") {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const sent: Request[] = [];
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-0123456789-of-the-gateway",
    authenticate: signedIn() === "public" ? "public" : () => ({ id: signedIn() }),
    origins: [],
    models: ["delta-5.3"],
    fetch(request: Request) {
      sent.push(request);
      return emulator.fetch(request);
    },
  });
  const createPage = (user?: string, more: object = {}) =>
    createClient({
      baseURL: "https://proxy.example",
      ...(user !== undefined && { user }),
      fetch: (request) => proxy.fetch(request),
      ...more,
    });
  return { sent, createPage };
}

test.each(["ada", "ü@example.com", '"', " ", "\ud83d\ude00"])(
  "A page of the user %j is served",
  async (user) => {
    const { createPage, sent } = createTestProxy(() => user);
    const { outcome } = await completeChat(createPage(user), { model: "delta-5.3", messages });
    expect(outcome).toBe("complete");
    // the gateway hears of no user
    expect([...(sent[0]?.headers.keys() ?? [])].filter((name) => name.startsWith("x-sluice"))).toEqual([]);
  },
);

test("A page of a user who has signed out is refused, and nothing is sent or billed", async () => {
  let signedIn = "ada";
  const { createPage, sent } = createTestProxy(() => signedIn);
  const page = createPage("ada");
  await completeChat(page, { model: "delta-5.3", messages });
  signedIn = "bob";
  const refusal = { status: 409, code: "user_mismatch", source: "proxy", billing: "none" };
  await expect(streamChat(page, { model: "delta-5.3", messages }).result()).rejects.toMatchObject(refusal);
  await expect(completeChat(page, { model: "delta-5.3", messages })).rejects.toMatchObject(refusal);
  expect(sent).toHaveLength(1);
});

test.each([
  ["a page without a user", "ada", undefined],
  ["a page of any user, where the proxy knows none", "public", "ada"],
])("%s is served", async (_, signedIn, user) => {
  const { createPage } = createTestProxy(() => signedIn);
  await expect(completeChat(createPage(user), { model: "delta-5.3", messages })).resolves.toMatchObject({
    outcome: "complete",
  });
});

test("A header says who the user is to a proxy alone, and never in words", async () => {
  const readHeaders = async (options: object) => {
    let headers = new Headers();
    const fetch = (request: Request) => {
      headers = request.headers;
      return Promise.resolve(Response.json({ choices: [] }));
    };
    const client = createClient({
      baseURL: "https://app.example",
      user: "ada@example.com",
      fetch,
      ...options,
    });
    await completeChat(client, { model: "delta-5.3", messages }).catch(() => {});
    return [...headers];
  };
  expect(JSON.stringify(await readHeaders({}))).toMatch(/"x-sluice-user","[\d-]+"/);
  expect(JSON.stringify(await readHeaders({}))).not.toContain("ada");
  const straight = await readHeaders({ apiKey: "sk-0123456789", idempotencyKeys: false });
  expect(straight.filter(([name]) => name.startsWith("x-"))).toEqual([]);
});
