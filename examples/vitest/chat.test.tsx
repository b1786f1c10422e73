import { createClient } from "@sluice/core";
import { createEmulator, type Fault } from "@sluice/emulator";
import { GatewayProvider } from "@sluice/react";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Chat } from "./chat.js";

/** The gateway, in this process: it responds with "7 metres", and its network fails when a test says so. */
let fault: Fault | undefined;
const emulator = createEmulator({
  speed: Number.POSITIVE_INFINITY,
  chat: () => "7 metres",
  faults: () => fault,
});
const client = createClient({ ...emulator.clientOptions, retry: { limit: 0 } });
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

beforeEach(() => {
  fault = undefined;
  emulator.reset();
  render(
    <GatewayProvider client={client}>
      <Chat />
    </GatewayProvider>,
  );
});
afterEach(cleanup);

test("shows the response, and sends one request", async () => {
  press("Ask");
  expect(await screen.findByText("7 metres")).toBeTruthy();
  expect(emulator.requests.map(({ body }) => body)).toMatchObject([
    { model: "delta-5.3", messages: [{ role: "user", content: "How deep is the Elbe?" }] },
  ]);
});

test("shows a failure, and tries again", async () => {
  fault = "refuse";
  press("Ask");
  expect((await screen.findByRole("alert")).textContent).toContain("Connection lost");
  fault = undefined;
  press("Try again");
  expect(await screen.findByText("7 metres")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});
