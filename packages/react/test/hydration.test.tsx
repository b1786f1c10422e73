import type { Client } from "@sluice/core";
import { GatewayProvider, useChatMessage, useChatStream, useImages } from "@sluice/react";
import { act, render } from "@testing-library/react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import {
  createTestClient,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";

/* A page whose second part hydrates after the first one has begun: islands, or selective hydration. */

const initialMessages = [{ id: "m-1", role: "assistant", content: "Welcome" }] as const;
let chat: ReturnType<typeof useChatStream>;
let images: ReturnType<typeof useImages>;

function Parts() {
  chat = useChatStream({ id: "a", model: "delta-5.3", initialMessages, throttleMs: 0 });
  images = useImages({ id: "a", model: "gamma-image-5-0-260128" });
  const message = useChatMessage("a", "m-1");
  const texts = chat.messages.map(({ content }) => content).join(", ");
  return (
    <p>
      {chat.status} {texts} {images.status} {message?.content}
    </p>
  );
}

async function hydrate(begin: (connection: ReturnType<typeof openBody>) => Promise<void>) {
  const connection = openBody();
  const { client } = createTestClient(
    ({ url }) => (url.endsWith("completions") ? streamResponse(connection.body) : new Promise(() => {})),
    { clock: stoppedClock() },
  );
  const createApp = (client: Client) => (
    <GatewayProvider client={client}>
      <Parts />
    </GatewayProvider>
  );
  const app = createApp(client);
  const island = document.createElement("div");
  // a server has stores of its own
  island.innerHTML = renderToString(createApp(createTestClient(() => new Response()).client));
  render(app);
  await act(async () => {
    await begin(connection);
    await settled();
  });
  const complaints: unknown[] = [];
  const root = await act(async () =>
    hydrateRoot(island, app, { onRecoverableError: (error) => complaints.push(String(error)) }),
  );
  const text = island.textContent;
  await act(async () => root.unmount());
  return { text, complaints };
}

test("A part hydrates with the server's state, and then shows the current chat and images", async () => {
  const { text, complaints } = await hydrate(async (connection) => {
    void chat.send("Hello");
    void images.generate({ prompt: "A reef" });
    await connection.wanted();
    connection.send(frame({ content: "Hi" }));
    await connection.wanted();
  });
  expect(complaints).toEqual([]);
  expect(text).toBe("streaming Welcome, Hello, Hi pending Welcome");
});

test("A part hydrates after messages have changed without a change of the status", async () => {
  const { text, complaints } = await hydrate(async () =>
    chat.setMessages([{ id: "m-1", role: "user", content: "Another one" }]),
  );
  expect(complaints).toEqual([]);
  expect(text).toBe("ready Another one idle Another one");
});
