import { completeChat, createVideoTask, generateImages, streamChat, unchecked } from "@sluice/core";
import { createChatStore, createImageStore, createVideoTaskStore } from "@sluice/stores";
import { expect, test } from "vitest";
import { clientOf, DONE, frame, streamAnswer } from "../../core/test/support/gateway.js";

/* A model that is added tomorrow: each error says how to send it from where it appeared, and that works. */

const messages = [{ role: "user" as const, content: "Hello" }];
const newer = { model: "zeta-9", messages, depth: "deep" };

function gateway() {
  return clientOf((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/images/generations")
      return Response.json({ data: [{ url: "https://files.test/a.png" }] });
    if (pathname === "/v1/video/generations") return Response.json({ id: "t-1" });
    if (request.headers.get("accept")?.includes("event-stream"))
      return streamAnswer(frame({ content: "Hi" }, "stop") + DONE);
    return Response.json({ choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] });
  });
}

test.each<[string, (client: ReturnType<typeof gateway>["client"], request: never) => unknown]>([
  ["streamChat(client, unchecked({ … }))", (client, request) => streamChat(client, request).result()],
  ["completeChat(client, unchecked({ … }))", completeChat],
  ["generateImages(client, unchecked({ … }))", generateImages],
  ["createVideoTask(client, unchecked({ … }))", createVideoTask],
])("a verb says to call it as %s", async (way, call) => {
  const { client, requests } = gateway();
  await expect(async () => call(client, newer as never)).rejects.toMatchObject({
    issues: [
      { path: "model", message: expect.stringContaining(`(send one that is not listed as \`${way}\`)`) },
    ],
  });
  expect(requests).toHaveLength(0);
  await call(client, unchecked(newer) as never);
  expect(await requests[0]?.json()).toMatchObject(newer);
});

test("the type error of a chat store names params: unchecked({ … })", async () => {
  const { client, requests } = gateway();
  const refused = createChatStore(client, { model: "zeta-9" as "delta-5.3" });
  await refused.send("Hello").catch(() => {});
  expect(refused.getSnapshot().error?.message).toContain("`params: unchecked({ … })`");
  expect(requests).toHaveLength(0);

  const chat = createChatStore(client, { model: "zeta-9", params: unchecked({ depth: "deep" }) });
  await chat.send("Hello");
  expect(await requests[0]?.json()).toEqual({ model: "zeta-9", depth: "deep", messages, stream: true });
  expect(chat.getSnapshot().messages.at(-1)).toMatchObject({ content: "Hi", outcome: "complete" });
});

test("the type error of an image store names generate(unchecked({ … }))", async () => {
  const { client, requests } = gateway();
  const images = createImageStore(client, { model: "zeta-9" });
  const refused = await images.generate({ prompt: "A reef" } as never);
  expect(refused.error?.message).toContain("`generate(unchecked({ … }))`");
  expect(requests).toHaveLength(0);
  await images.generate(unchecked({ prompt: "A reef", depth: "deep" }));
  expect(await requests[0]?.json()).toEqual({ model: "zeta-9", prompt: "A reef", depth: "deep" });
});

test("the type error of a video store names create(unchecked({ … }))", async () => {
  const { client, requests } = gateway();
  const video = createVideoTaskStore(client);
  const refused = await video.create({ model: "zeta-9" } as never);
  expect(refused.error?.message).toContain("`create(unchecked({ … }))`");
  expect(requests).toHaveLength(0);
  expect(await video.create(unchecked({ model: "zeta-9", depth: "deep" }))).toMatchObject({
    handle: { id: "t-1" },
  });
  expect(await requests[0]?.json()).toEqual({ model: "zeta-9", depth: "deep" });
  video.reset();
});
