// @vitest-environment node
import { createClient } from "@sluice/core";
import {
  describeError,
  GatewayProvider,
  useAsset,
  useAttachments,
  useChatMessage,
  useChatStream,
  useConversations,
  useImages,
  useVideoTask,
  useVideoTasks,
} from "@sluice/react";
import { indexedDBStorage, webStorage } from "@sluice/stores";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { createTestClient, stoppedClock } from "../../core/test/support/gateway.js";

function Chat({ greeting }: { greeting: string }) {
  const initialMessages = [{ id: "1", role: "assistant" as const, content: greeting }];
  const { messages } = useChatStream({ id: "support", model: "delta-5.3", initialMessages });
  return <p>{messages.map(({ content }) => content)}</p>;
}

const storage = indexedDBStorage();
const storageOfTexts = webStorage(() => localStorage);

/** Every hook, with storages that no server has. */
function Everything() {
  const chat = useChatStream({ id: "kept", model: "delta-5.3", storage });
  const greeting = useChatMessage("support", "1");
  const { status: images } = useImages({ id: "cover", model: "gamma-image-5-0-260128" });
  const { status: video } = useVideoTask({ taskId: "t-1", storage: storageOfTexts });
  const { tasks } = useVideoTasks({ storage });
  const { status: asset } = useAsset({ groupId: "group-1" });
  return (
    <p>
      {[chat.status, chat.persistence?.status, greeting?.content, images, video, tasks.length, asset].join(
        " ",
      )}
    </p>
  );
}

/** What apps build around the hooks. */
function App() {
  const { conversations, isRestoring } = useConversations({ storage });
  const { attachments } = useAttachments("delta-5.3");
  const { title } = describeError(new Error("no"));
  return <p>{[conversations.length, isRestoring, attachments.length, title].join(" ")}</p>;
}

test("no chat is shared on a server: the messages of one user are never shown to another", () => {
  const { client, requests } = createTestClient(() => new Response());
  const page = (greeting: string) =>
    renderToString(
      <GatewayProvider client={client}>
        <Chat greeting={greeting} />
      </GatewayProvider>,
    );
  expect(page("Welcome back, Ada")).toContain("Ada");
  expect(page("Welcome back, Grace")).toContain("Grace");
  expect(requests).toHaveLength(0);
});

test("every hook renders on a server with a relative address, and leaves no timer or request", () => {
  const clock = stoppedClock();
  const sent: Request[] = [];
  const client = createClient({
    baseURL: "/api",
    clock,
    fetch: async (request) => {
      sent.push(request);
      return new Response();
    },
  });
  const page = () =>
    renderToString(
      <GatewayProvider client={client}>
        <Everything />
        <Chat greeting="Welcome" />
      </GatewayProvider>,
    );
  const first = page();
  expect(first).toContain("<p>ready restoring  idle idle 0 idle</p>");
  expect(page()).toBe(first);
  expect([sent.length, clock.sleeping()]).toEqual([0, 0]);
});

test("conversations, attachments and errors render on a server without a request", () => {
  const clock = stoppedClock();
  const { client, requests } = createTestClient(() => new Response(), { clock });
  const html = renderToString(
    <GatewayProvider client={client}>
      <App />
    </GatewayProvider>,
  );
  expect(html).toBe("<p>0 true 0 Something went wrong</p>");
  expect([requests.length, clock.sleeping()]).toEqual([0, 0]);
});
