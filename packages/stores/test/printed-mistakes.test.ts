import type { ClientOptions } from "@sluice/core";
import { createChatStore, createImageStore, createVideoTaskStore } from "@sluice/stores";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";

/* A page shows the errors of a store in words for users. The printed message is for developers. */

let printed: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  printed = vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
const listLines = () => printed.mock.calls.flat();

/** Makes each message new, because a page prints a message once. */
let count = 0;
/** Creates an error of the proxy: its message, and the function that responds with it. */
const createRefusal = (code: string, status = 403) => {
  const message = `${code} ${++count}`;
  const headers = { "x-sluice-source": "proxy" };
  return { message, respond: () => Response.json({ error: { message, code } }, { status, headers }) };
};
/** Creates a client that prints mistakes: it has no `onEvent`. */
const createDevelopmentClient = (respond: () => Response, options: Partial<ClientOptions> = {}) =>
  createTestClient(respond, { onEvent: undefined, retry: { limit: 0 }, ...options }).client;
/** Prints a line, and waits until it is the last one, so that all earlier lines are printed. */
async function printAnother(): Promise<void> {
  const { message, respond } = createRefusal("model_not_allowed");
  vi.unstubAllEnvs();
  await createChatStore(createDevelopmentClient(respond), { model: "delta-5.3" }).send("Hello");
  await vi.waitFor(() => expect(listLines().at(-1)).toContain(message));
}

test.each(["origin_not_allowed", "model_not_allowed", "field_not_allowed", "not_found", "misconfigured"])(
  "prints the error %s of a proxy in a chat once, with its message",
  async (code) => {
    const { message, respond } = createRefusal(code);
    for (const _ of [1, 2]) {
      const chat = createChatStore(createDevelopmentClient(respond), { model: "delta-5.3" });
      expect(await chat.send("Hello")).toMatchObject({ error: { message } });
    }
    await printAnother();
    expect(listLines().slice(0, -1)).toEqual([`@sluice/core: APIError: ${message}`]);
  },
);

test("prints a wrong base URL", async () => {
  const page = `<title>My app ${++count}</title>`;
  await createChatStore(
    createDevelopmentClient(() => new Response(page, { status: 404 })),
    { model: "delta-5.3" },
  ).send("Hello");
  await vi.waitFor(() =>
    expect(listLines()).toEqual([
      expect.stringMatching(
        /^@sluice\/core: APIError: HTTP 404: the response is the page .*check the base URL/,
      ),
    ]),
  );
});

test("prints each broken rule of a request of a chat, of images and of a video", async () => {
  const client = createDevelopmentClient(() => new Response());
  await createChatStore(client, { model: "alpha-v4.1-flash", params: { temperature: 7 } }).send("Hello");
  await createImageStore(client, { model: "gamma-image-5-0-260128" }).generate({
    prompt: "A reef",
    size: "10x10" as never,
  });
  await createVideoTaskStore(client).create({ model: "beta3.0-video", input: {} } as never);
  await createChatStore(client, { model: "delta-5.3" }).send({ text: "Hello" } as never);
  await vi.waitFor(() => expect(listLines()).toHaveLength(4));
  for (const [nth, field] of ["temperature: ", "size: ", "input.prompt: ", "content"].entries())
    expect(listLines()[nth]).toMatch(
      new RegExp(`^@sluice/core: (Validation|Configuration)Error: .*${field}`),
    );
});

test.each([
  ["not signed in", "unauthenticated", 401],
  ["too many requests", "rate_limited", 429],
  ["a budget that is used up", "budget_exhausted", 429],
  ["a task that is not the user's", "task_not_found", 404],
  ["a service that is down", "upstream_error", 502],
])("prints nothing about errors that users cause: %s", async (_, code, status) => {
  const { respond } = createRefusal(code, status);
  await createChatStore(createDevelopmentClient(respond), { model: "delta-5.3" }).send("Hello");
  await printAnother();
  expect(listLines()).toHaveLength(1);
});

test("prints nothing about a file that a user has chosen", async () => {
  const issue = {
    path: "input.media.0",
    message: `must be JPEG ${++count}`,
    rule: "media.first-frame.format",
  };
  const uploads = { upload: () => Promise.reject(new Error()), check: () => [issue] };
  const store = createVideoTaskStore(createDevelopmentClient(() => new Response(), { uploads }));
  expect(await store.create({ model: "beta3.0-video", input: { prompt: "A reef" } })).toMatchObject({
    error: { name: "ValidationError", issues: [issue] },
  });
  await printAnother();
  expect(listLines()).toHaveLength(1);
});

test("prints nothing if a user sends twice before the response arrives", async () => {
  const { respond } = createRefusal("rate_limited", 429);
  const chat = createChatStore(createDevelopmentClient(respond), { model: "delta-5.3" });
  const [, second] = await Promise.all([chat.send("Hello"), chat.send("Hello")]);
  expect(second).toMatchObject({ outcome: "not-sent", error: { name: "ConfigurationError" } });
  await printAnother();
  expect(listLines()).toHaveLength(1);
});

test("prints nothing in production, or if `onEvent` receives the mistake", async () => {
  const { respond } = createRefusal("origin_not_allowed");
  const send = (client: ReturnType<typeof createDevelopmentClient>) =>
    createChatStore(client, { model: "delta-5.3" }).send("Hello");
  await send(createDevelopmentClient(respond, { onEvent: () => {} }));
  vi.stubEnv("NODE_ENV", "production");
  await send(createDevelopmentClient(respond));
  await printAnother();
  expect(listLines()).toHaveLength(1);
});
