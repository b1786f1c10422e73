import {
  type ChatState,
  type ChatStorage,
  createChatStore,
  createVideoTaskList,
  createVideoTaskStore,
} from "@sluice/stores";
import { onTestFinished } from "vitest";
import { createTestClient, openBody, settled, streamResponse } from "../../../core/test/support/gateway.js";
import { streamText } from "../../../core/test/support/reply-streams.js";
import { until } from "./chat.js";

/** A valid request for a video. */
export const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;

/** Opens a page of a user with a chat and the list of videos. After the first response, the test sends the responses. */
export function openPage(storage: ChatStorage, user?: string) {
  const secondResponse = openBody();
  let chats = 0;
  const { client, requests } = createTestClient(
    ({ url }) => {
      if (url.includes("/video/")) return Response.json({ id: `video-${user}`, created_at: 1 });
      chats += 1;
      return streamResponse(chats === 1 ? streamText("Hi") : secondResponse.body);
    },
    { user },
  );
  const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage });
  const list = createVideoTaskList(client, { storage });
  onTestFinished(chat.subscribe(() => {}));
  onTestFinished(list.subscribe(() => {}));
  const listTexts = () => chat.getSnapshot().messages.map(({ content }) => content);
  async function sendAndCreate(): Promise<void> {
    await until(chat, ({ persistence }: ChatState) => persistence?.status !== "restoring");
    await chat.send(`question of ${user}`);
    await createVideoTaskStore(client, { storage }).create(request);
    await settled();
  }
  return { client, chat, list, secondResponse, requests, listTexts, sendAndCreate };
}

/** Lists the keys of a user's records in a memory storage. */
export async function listStored(storage: ChatStorage, user?: string): Promise<string[]> {
  const prefix = user === undefined ? "" : `${JSON.stringify(user)}/`;
  const names = ["chat/a", "chat/b", "conversations", "drafts", "uploads", "video-tasks", "forgotten"];
  const read = await Promise.all(names.map((name) => storage.read(prefix + name)));
  return read.flatMap((records) => [...records.keys()]);
}
