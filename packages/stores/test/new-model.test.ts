import { completeChat, createVideoTask, generateImages, streamChat } from "@sluice/core";
import { createChatStore, createImageStore, createVideoTaskStore } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient, DONE, frame, streamResponse } from "../../core/test/support/gateway.js";

/* A model that is newer than this version: each error says how to send it, and that works. */

const messages = [{ role: "user" as const, content: "Hello" }];
const newer = { model: "zeta-9", messages, depth: "deep" };

function createGateway() {
  return createTestClient((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/images/generations")
      return Response.json({ data: [{ url: "https://files.test/a.png" }] });
    if (pathname === "/v1/video/generations") return Response.json({ id: "t-1" });
    if (request.headers.get("accept")?.includes("event-stream"))
      return streamResponse(frame({ content: "Hi" }, "stop") + DONE);
    return Response.json({ choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] });
  });
}

const advice = "(send one that is not listed with `{ checks: false }`)";

type Verb = (client: ReturnType<typeof createGateway>["client"], request: never, options?: object) => unknown;
test.each<[string, Verb]>([
  ["streamChat", (client, request, options) => streamChat(client, request, options).result()],
  ["completeChat", completeChat],
  ["generateImages", generateImages],
  ["createVideoTask", createVideoTask],
])("%s suggests { checks: false } for an unknown model", async (_, call) => {
  const { client, requests } = createGateway();
  await expect(async () => call(client, newer as never)).rejects.toMatchObject({
    issues: [{ path: "model", message: expect.stringContaining(advice) }],
  });
  expect(requests).toHaveLength(0);
  await call(client, newer as never, { checks: false });
  expect(await requests[0]?.json()).toMatchObject(newer);
});

test("a chat store suggests checks: false for an unknown model, and sends the model with it", async () => {
  const { client, requests } = createGateway();
  const refused = createChatStore(client, { model: "zeta-9" as "delta-5.3" });
  await refused.send("Hello").catch(() => {});
  expect(refused.getSnapshot().error?.message).toContain(advice);
  expect(requests).toHaveLength(0);

  const chat = createChatStore(client, { model: "zeta-9", checks: false, params: { depth: "deep" } });
  await chat.send("Hello");
  expect(await requests[0]?.json()).toEqual({ model: "zeta-9", depth: "deep", messages, stream: true });
  expect(chat.getSnapshot().messages.at(-1)).toMatchObject({ content: "Hi", outcome: "complete" });
});

test("an image store suggests checks: false for an unknown model, and sends the model with it", async () => {
  const { client, requests } = createGateway();
  const refused = createImageStore(client, { model: "zeta-9" as "gamma-image-5-0-260128" });
  expect((await refused.generate({ prompt: "A reef" })).error?.message).toContain(advice);
  expect(requests).toHaveLength(0);
  const images = createImageStore(client, { model: "zeta-9", checks: false });
  await images.generate({ prompt: "A reef", depth: "deep" });
  expect(await requests[0]?.json()).toEqual({ model: "zeta-9", prompt: "A reef", depth: "deep" });
});

test("a video store suggests checks: false for an unknown model, and sends the model with it", async () => {
  const { client, requests } = createGateway();
  const video = createVideoTaskStore(client);
  const refused = await video.create({ model: "zeta-9" } as never);
  expect(refused.error?.message).toContain(advice);
  expect(requests).toHaveLength(0);
  expect(await video.create({ model: "zeta-9", depth: "deep" }, { checks: false })).toMatchObject({
    handle: { id: "t-1" },
  });
  expect(await requests[0]?.json()).toEqual({ model: "zeta-9", depth: "deep" });
  video.reset();
});

test("a failed turn and failed images are repeated without checks, too", async () => {
  let isUp = false;
  const { client, requests } = createTestClient(
    (request) => {
      if (!isUp) return Response.json({ error: { message: "down" } }, { status: 400 });
      return request.url.includes("/images/")
        ? Response.json({ data: [{ url: "https://files.test/a.png" }] })
        : streamResponse(frame({ content: "Hi" }, "stop") + DONE);
    },
    { retry: { limit: 0 } },
  );
  const chat = createChatStore(client, { model: "zeta-9", checks: false, params: { depth: "deep" } });
  const images = createImageStore(client, { model: "zeta-9", checks: false });
  await chat.send("Hello");
  await images.generate({ prompt: "A reef", depth: "deep" });
  isUp = true;
  expect(await chat.retry()).toMatchObject({ outcome: "complete" });
  const again = images.getSnapshot().variables;
  expect(await images.generate(again ?? {})).toMatchObject({ status: "success" });
  const [chatBody, imageBody, chatBodyAgain, imageBodyAgain] = await Promise.all(
    requests.map((sent) => sent.json()),
  );
  expect([chatBodyAgain, imageBodyAgain]).toEqual([chatBody, imageBody]);
  expect([chatBody.depth, imageBody.depth]).toEqual(["deep", "deep"]);
});
