// @vitest-environment happy-dom
import { createClient } from "@sluice/core";
import { type ChatStorage, GatewayProvider, useChatStream } from "@sluice/react";
import { memoryStorage } from "@sluice/stores";
import { serverRunner } from "@sluice/sync";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";

test("posts a message to the server and shows that it is submitted", async () => {
  const asked: { readonly url: string; readonly body: unknown }[] = [];
  const client = createClient({
    baseURL: "https://proxy.example",
    async fetch(request) {
      asked.push({ url: request.url, body: await request.json() });
      return Response.json({ messageId: "q-1" }, { status: 202 });
    },
  });
  const storage = memoryStorage();
  render(
    <GatewayProvider client={client}>
      <Chat storage={storage} />
    </GatewayProvider>,
  );
  fireEvent.click(await screen.findByText("ready"));
  await screen.findByText("submitted");
  await waitFor(() =>
    expect(asked).toMatchObject([
      {
        url: "https://proxy.example/v1/conversations/c-1/turns",
        body: { message: { role: "user", content: "Hi" }, parent: null },
      },
    ]),
  );
});

const runner = serverRunner();

function Chat({ storage }: { readonly storage: ChatStorage }) {
  const { send, status } = useChatStream({ model: "delta-5.3", id: "c-1", storage, runner });
  return (
    <button type="button" onClick={() => void send("Hi")}>
      {status}
    </button>
  );
}
