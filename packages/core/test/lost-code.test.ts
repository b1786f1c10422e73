import { afterEach, describe, expect, test } from "vitest";
import { lose, restoreModules } from "./support/lost-code.js";

/* A page loads some code only when it needs it. Where the network is gone by then, what the page says stays true. */

afterEach(restoreModules);

/** Creates a client without these modules, whose gateway is `answer`. */
async function importWithout(
  modules: readonly string[],
  answer: (request: Request) => Response | Promise<Response>,
) {
  lose(...modules.map((module) => `core/src/${module}`));
  const core = await import("@sluice/core");
  const requests: string[] = [];
  const client = core.createClient({
    baseURL: "https://gateway.test",
    random: () => 0,
    onEvent: () => {},
    fetch: async (request) => {
      requests.push(request.method);
      return answer(request);
    },
  });
  return { ...core, client, requests };
}

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] } as const;

describe("a request whose code for failures is lost", () => {
  test.each([
    ["connect ECONNREFUSED 127.0.0.1:80", "none"],
    ["getaddrinfo ENOTFOUND gateway.test", "none"],
    ["Connection refused", "none"],
    ["connect EHOSTUNREACH", "none"],
    ["connect ENETUNREACH", "none"],
    ["Failed to fetch", "maybe"],
  ])("A failure of %j is %s", async (message, billing) => {
    const { completeChat, client } = await importWithout(["transport/repeat"], () =>
      Promise.reject(new TypeError("fetch failed", { cause: new Error(message) })),
    );
    await expect(completeChat(client, question)).rejects.toMatchObject({ name: "ConnectionError", billing });
  });

  test("A refusal keeps its status", async () => {
    const { completeChat, streamChat, client } = await importWithout(["transport/repeat"], () =>
      Response.json({ error: { message: "No." } }, { status: 403 }),
    );
    const refused = { name: "APIError", status: 403, billing: "none" };
    await expect(completeChat(client, question)).rejects.toMatchObject(refused);
    await expect(streamChat(client, question).result()).rejects.toMatchObject(refused);
  });

  test.each<[string, () => Response, object]>([
    [
      "an error",
      () => Response.json({ error: { message: "No.", code: "busy" } }),
      { message: "No.", code: "busy" },
    ],
    [
      "a page",
      () => new Response("<html><title>Log in</title></html>"),
      { body: expect.stringContaining("Log in") },
    ],
  ])("A stream that is %s with status 200 is no success", async (_, answer, error) => {
    const { streamChat, client } = await importWithout(["transport/repeat"], answer);
    await expect(streamChat(client, question).result()).rejects.toMatchObject({
      name: "APIError",
      status: 200,
      ...error,
    });
  });
});
