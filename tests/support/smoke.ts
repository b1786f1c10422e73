import {
  completeChat,
  createClient,
  createVideoTask,
  defineTool,
  generateImages,
  isGatewayError,
  streamChat,
  watchVideoTask,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { createChatStore, GatewayProvider, useChatStream } from "@sluice/react";
import { chat, createProxy, images as imagesRoutes, videos } from "@sluice/worker-proxy";
import { createElement } from "react";
import { renderToString } from "react-dom/server";

/*
 * A walk through the built packages, over real sockets, on the Node that runs it: client, proxy, emulator. Prints what
 * it saw as JSON.
 */

const emulator = createEmulator({ apiKeys: ["sk-smoke"], speed: Number.POSITIVE_INFINITY });
const gateway = await serve(emulator, { port: 0 });
const proxy = createProxy({
  baseURL: gateway.url,
  apiKey: () => "sk-smoke",
  authenticate: "public",
  origins: [],
  models: ["alpha-v4.1-flash", "delta-5.3", "gamma-image-5-0-260128", "beta3.0-video"],
  routes: [chat, imagesRoutes, videos],
});
const edge = await serve({ ...emulator, fetch: (request) => proxy.fetch(request as Request) }, { port: 0 });
const client = createClient({ baseURL: edge.url, retry: { limit: 0 } });
const messages = [{ role: "user" as const, content: "Tell me of rivers" }];

async function checkChat() {
  let text = "";
  const stream = streamChat(client, { model: "delta-5.3", messages });
  for await (const delta of stream) if (delta.type === "text-delta") text += delta.text;
  const { outcome, message } = await stream.result();
  const whole = await completeChat(client, { model: "delta-5.3", messages });
  return { outcome, isWhole: text === message.content && text === whole.message.content };
}

async function checkTools() {
  const depth = defineTool({
    name: "get_depth",
    inputSchema: { type: "object", properties: { river: { type: "string" } }, required: ["river"] },
    execute: () => "7 metres",
  });
  const store = createChatStore(client, { model: "alpha-v4.1-flash", tools: [depth] });
  const { outcome } = await store.send("Use the tool get_depth: how deep is the river?");
  return { outcome, text: store.getSnapshot().messages.at(-1)?.content };
}

async function checkImages() {
  const { images } = await generateImages(client, {
    model: "gamma-image-5-0-260128",
    prompt: "A lock on a canal",
    size: "2048x2048",
  });
  const file = await fetch(images[0]?.url ?? "");
  return `${file.status} ${file.headers.get("content-type")}`;
}

async function checkVideo() {
  const handle = await createVideoTask(client, {
    model: "beta3.0-video",
    input: { prompt: "A reef at dawn" },
  });
  return (await watchVideoTask(client, handle, { intervalMs: 20 }).result()).state;
}

async function checkFailure(content: string) {
  const stream = streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content }] });
  const error: unknown = await stream.result().catch((reason: unknown) => reason);
  return isGatewayError(error) ? error.name : String(error);
}

function Page() {
  return createElement("p", null, useChatStream({ model: "delta-5.3" }).status);
}

const rendered = renderToString(createElement(GatewayProvider, { client }, createElement(Page)));
const seen = {
  node: process.versions.node.split(".")[0],
  chat: await checkChat(),
  tools: await checkTools(),
  images: await checkImages(),
  video: await checkVideo(),
  truncated: await checkFailure("Rivers [[truncate]]"),
  refused: await checkFailure("Rivers [[429]]"),
  rendered,
};
await Promise.all([edge.close(), gateway.close()]);
console.log(JSON.stringify(seen));
