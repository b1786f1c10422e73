import { type ClientOptions, createClient } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { render } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settled } from "../../core/test/support/gateway.js";

let warned: string[] = [];
/** Waits until the code of the warnings would have been run. */
async function loadHints(): Promise<void> {
  await import("../src/compare-clients.js");
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

function CreatesClient({ user = "ada" }: { user?: string }) {
  return <GatewayProvider client={createClient({ ...options, user })} />;
}
function KeepsClient() {
  const [client] = useState(() => createClient(options));
  return <GatewayProvider client={client} />;
}

test("warns a developer whose component creates the client in each render, which loses the chats", async () => {
  const { rerender } = render(<CreatesClient />);
  expect(warned).toEqual([]);
  rerender(<CreatesClient />);
  await expect.poll(() => warned).toEqual(["GatewayProvider.client options.client"]);
});

test("does not warn about a client that is reused, or belongs to another user", async () => {
  const view = render(<KeepsClient />);
  view.rerender(<KeepsClient />);
  const { rerender } = render(<CreatesClient />);
  rerender(<CreatesClient user="bob" />);
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
