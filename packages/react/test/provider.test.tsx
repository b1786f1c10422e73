import { type ChatModel, type ClientOptions, createClient } from "@sluice/core";
import { GatewayProvider, useChatStream } from "@sluice/react";
import { render } from "@testing-library/react";
import { StrictMode, useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clientOf, settled } from "../../core/test/support/gateway.js";

let warned: string[] = [];
/** Waits until the code of the warnings would have been run. */
async function loadHints(): Promise<void> {
  await import("../src/compare-clients.js");
  await import("../../stores/src/chat/compare-models.js");
  await settled();
}
const options: ClientOptions = {
  baseURL: "https://gateway.test",
  onEvent: (event) => event.type === "warning" && warned.push(`${event.issue.path} ${event.issue.rule}`),
};

beforeEach(() => {
  warned = [];
});
afterEach(() => vi.unstubAllEnvs());

function CreatesClient({ scope = "ada" }: { scope?: string }) {
  return <GatewayProvider client={createClient({ ...options, user: scope })} />;
}
function KeepsClient() {
  const [client] = useState(() => createClient(options));
  return <GatewayProvider client={client} />;
}
function Chat({ id = "trip", model }: { id?: string; model: ChatModel }) {
  useChatStream({ id, model });
  return null;
}

test("warns a developer whose component creates the client in each render, which loses the chats", async () => {
  const { rerender } = render(<CreatesClient />);
  expect(warned).toEqual([]);
  rerender(<CreatesClient />);
  await expect.poll(() => warned).toEqual(["GatewayProvider.client options.client"]);
});

test("does not warn about a client that is kept, or is of another user", async () => {
  const kept = render(<KeepsClient />);
  kept.rerender(<KeepsClient />);
  const { rerender } = render(<CreatesClient />);
  rerender(<CreatesClient scope="bob" />);
  await loadHints();
  expect(warned).toEqual([]);
});

test("does not warn about a client in production, where no developer reads it", async () => {
  vi.stubEnv("NODE_ENV", "production");
  const { rerender } = render(<CreatesClient />);
  rerender(<CreatesClient />);
  await loadHints();
  expect(warned).toEqual([]);
});

test("warns of two chats with one id and two models, and not of one chat that changes its model", async () => {
  const messages: string[] = [];
  const { client } = clientOf(() => new Response(null, { status: 500 }), {
    onEvent: (event) => event.type === "warning" && messages.push(event.issue.message),
  });
  const page = (first: ChatModel, second?: ChatModel) => (
    <StrictMode>
      <GatewayProvider client={client}>
        <Chat model={first} />
        {second && <Chat model={second} />}
        <Chat id="other" model="gamma-chat-1-6-251015" />
      </GatewayProvider>
    </StrictMode>
  );
  const { rerender } = render(page("delta-5.3", "delta-5.3"));
  rerender(page("alpha-v4.1-flash"));
  await loadHints();
  expect(messages).toEqual([]);
  rerender(page("alpha-v4.1-flash", "delta-5.3"));
  await expect
    .poll(() => messages[0])
    .toBe(
      'is "delta-5.3", and "alpha-v4.1-flash" in another chat with the id "trip": give both one model, or two ids',
    );
});
