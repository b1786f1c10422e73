import { createClient, generateImages, streamChat } from "@sluice/core";
import { createChatStore, createImageStore, createVideoTaskStore } from "@sluice/react";

const client = createClient({ baseURL: "https://app.example.com/api" });

const messages = [{ role: "user", content: "How deep is the Elbe?" }];
const stream = streamChat(client, { model: "zeta-9", messages, depth: "deep" }, { checks: false });
const { message } = await stream.result();
const { images } = await generateImages(
  client,
  { model: "zeta-9-image", prompt: "A reef" },
  { checks: false },
);

const chat = createChatStore(client, { model: "zeta-9", checks: false, params: { depth: "deep" } });
await chat.send("How deep is the Elbe?");

const painter = createImageStore(client, { model: "zeta-9-image", checks: false });
await painter.generate({ prompt: "A reef" });

const video = createVideoTaskStore(client);
await video.create({ model: "zeta-9-video", prompt: "A reef" }, { checks: false });

console.log(message.content, images[0]?.url, chat.getSnapshot().messages.at(-1)?.content);
