import type { Store } from "@sluice/core";
import {
  createAssetStore,
  createChatStore,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
} from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, settled, stoppedClock, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { until } from "./support/chat.js";

const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
const video = { code: "success", data: { status: "SUCCESS", result_url: "https://files.test/anns.mp4" } };
const forbidden = () => Response.json({ error: { message: "not yours" } }, { status: 403 });

/** Opens a page of a user. Another page is another tab, or the same browser after another user has signed in. */
function openPage(
  user: string | undefined,
  respond: () => Response = () => streamResponse(streamText("Hi")),
) {
  const baseURL = "https://gateway.test";
  return createTestClient(respond, {
    user,
    baseURL,
    clock: stoppedClock(),
    gateway: { assetLookup: "/gamma/asset/GetAsset" },
  });
}

/** Waits until a store shows a state. */
function waitForState<State>(store: Store<State>, isShown: (state: State) => boolean): Promise<State> {
  return new Promise((resolve) => {
    const check = () => isShown(store.getSnapshot()) && resolve(store.getSnapshot());
    store.subscribe(check);
    check();
  });
}

describe("The user of a client", () => {
  test.each([["user-1"], ["a/b"], ['"'], ["ü".normalize("NFD")], ["\ud800"], [" "], ["__proto__"]])(
    "may be %j",
    async (user) => {
      const storage = memoryStorage();
      const { client } = openPage(user);
      expect(client.user).toBe(user);
      await createChatStore(client, { id: "a", model: "delta-5.3", storage }).send("Hello");
      await settled();
      const again = createChatStore(openPage(user).client, { id: "a", model: "delta-5.3", storage });
      await waitForState(again, ({ messages }) => messages.length === 2);
    },
  );

  test.each([
    ["", /user: must be the id .* got "";/],
    [null, /user: .* got null;/],
    [5, /user: .* got 5;/],
    [{}, /user: .* got {};/],
  ])("is rejected as %j, with the option's name", (user, message) => {
    expect(() => openPage(user as string)).toThrow(message);
  });

  test("is not part of any request", async () => {
    const { client, requests } = openPage("user-of-a-secret-name");
    await createChatStore(client, { model: "delta-5.3" }).send("Hello");
    const [request] = requests as [Request];
    const sent = [request.url, await request.text(), ...[...request.headers].flat()];
    expect(sent.join(" ")).not.toContain("secret-name");
  });

  test("separates the chats, tasks and shared polls of users with any names and ids", async () => {
    const storage = memoryStorage();
    const users = ["a", "a/b", 'a"', '"a"', "a/chat", "A", undefined];
    const ids = ["b/c", "c", "chat/c", '/"c', "/c"];
    for (const user of users)
      for (const id of ids)
        await createChatStore(openPage(user).client, { id, model: "delta-5.3", storage }).send(
          `${user} ${id}`,
        );
    await settled();
    for (const user of users)
      for (const id of ids) {
        const chat = createChatStore(openPage(user).client, { id, model: "delta-5.3", storage });
        const { messages } = await waitForState(
          chat,
          ({ persistence }) => persistence?.status !== "restoring",
        );
        expect(messages.map(({ content }) => content)).toEqual([`${user} ${id}`, "Hi"]);
      }
    const submitter = openPage("a", () => Response.json({ id: "video-1", created_at: 1 }));
    await createVideoTaskStore(submitter.client, { storage }).create(request);
    await settled();
    expect(await listVideoTasks(openPage("a").client, { storage })).toHaveLength(1);
    for (const user of users.slice(1))
      expect(await listVideoTasks(openPage(user).client, { storage })).toEqual([]);
  });

  test("decides whether two clients of a page share their polls of a task", async () => {
    const id = `video-${Math.random()}`;
    const watch = (user: string | undefined, respond: () => Response) => {
      const video = createVideoTaskStore(openPage(user, respond).client);
      video.attach(id);
      return video;
    };
    const bob = watch("bob", forbidden);
    await waitForState(bob, ({ status }) => status === "error");
    const ann = watch("ann", () => Response.json(video));
    await waitForState(ann, ({ status }) => status === "success");
    await settled();
    expect(bob.getSnapshot()).toMatchObject({ status: "error", task: undefined });
  });

  test("decides whether two clients of a page share their polls of an asset", async () => {
    const id = `asset-${Math.random()}`;
    const watch = (user: string, respond: () => Response) => {
      const asset = createAssetStore(openPage(user, respond).client);
      asset.attach(id);
      return asset;
    };
    const bob = watch("bob", forbidden);
    await waitForState(bob, ({ status }) => status === "error");
    const ann = watch("ann", () => Response.json({ Id: id, Status: "Active" }));
    await waitForState(ann, ({ status }) => status === "success");
    await settled();
    expect(bob.getSnapshot()).toMatchObject({ status: "error", asset: undefined });
  });

  test("keeps the response of one user out of another user's tab with the same chat id", async () => {
    const storage = memoryStorage();
    const [ann, bob] = ["ann", "bob"].map((user) =>
      createChatStore(openPage(user).client, { id: "a", model: "delta-5.3", storage }),
    ) as [ReturnType<typeof createChatStore>, ReturnType<typeof createChatStore>];
    bob.subscribe(() => {});
    await until(bob, ({ persistence }) => persistence?.status !== "restoring");
    await ann.send("Hello");
    await settled();
    expect(bob.getSnapshot().messages).toEqual([]);
  });
});
