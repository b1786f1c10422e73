import { readFileSync, writeFileSync } from "node:fs";
import { createClient } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { chat, createProxy, images, videos } from "@sluice/worker-proxy";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { FunctionComponent } from "react";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/* A future model: the unchanged examples of the guide, through the proxy, to a gateway that has the model. */

const folder = createTemporaryFolder("new-model");
const proxy = createProxy({
  baseURL: "https://gateway.example.com",
  apiKey: () => "sk-gateway",
  authenticate: () => ({ id: "user-1" }),
  origins: [],
  models: ["zeta-9", "zeta-9-image", "zeta-9-video"],
  // what the operator has to list of a model that is in no table
  allowFields: ["depth", "prompt"],
  routes: [chat, images, videos],
  secret: () => "a secret of at least thirty-two characters",
  basePath: "/api",
  fetch: (request) => gateway(request),
});
const received: unknown[] = [];

async function gateway(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === "GET") return Response.json({ code: "success", data: { status: "IN_PROGRESS" } });
  received.push(await request.json());
  if (pathname.endsWith("/chat/completions"))
    return new Response(REPLY, { headers: { "content-type": "text/event-stream" } });
  if (pathname.endsWith("/images/generations"))
    return Response.json({ data: [{ url: "https://files.test/reef.png" }] });
  return Response.json({ id: "task-1", status: "queued" });
}

const chunk = (delta: object, finish_reason: string | null) =>
  `data: ${JSON.stringify({ id: "c-1", model: "zeta-9", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const REPLY = `${chunk({ content: "7 metres" }, null)}${chunk({}, "stop")}data: [DONE]\n\n`;

async function example(of: string, extension: "ts" | "tsx"): Promise<Record<string, unknown>> {
  const code = readFileSync(
    `${import.meta.dirname}/../../docs/examples/new-model/new-model.${extension}`,
    "utf8",
  );
  const file = `${folder}/${of}.${extension}`;
  writeFileSync(file, code);
  return import(/* @vite-ignore */ file);
}

const question = { role: "user", content: "How deep is the Elbe?" };
const sent = {
  chat: { model: "zeta-9", depth: "deep", messages: [question], stream: true },
  image: { model: "zeta-9-image", prompt: "A reef" },
  video: { model: "zeta-9-video", prompt: "A reef" },
};

beforeAll(() => {
  vi.stubGlobal("fetch", (...given: ConstructorParameters<typeof Request>) =>
    proxy.fetch(new Request(...given), {}),
  );
});
beforeEach(() => {
  received.length = 0;
});
afterEach(cleanup);
afterAll(() => {
  vi.unstubAllGlobals();
});

test("the example of the core sends each request unchanged", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  await example("core", "ts");
  expect(received).toEqual([sent.chat, sent.image, sent.chat, sent.image, sent.video]);
  expect(log.mock.calls).toEqual([["7 metres", "https://files.test/reef.png", "7 metres"]]);
  log.mockRestore();
});

test("the example of the hooks sends each request unchanged", async () => {
  const { Zeta } = (await example("react", "tsx")) as { Zeta: FunctionComponent };
  const client = createClient({ baseURL: "https://app.example.com/api" });
  render(
    <GatewayProvider client={client}>
      <Zeta />
    </GatewayProvider>,
  );
  fireEvent.click(screen.getByText("Ask"));
  await screen.findByText("7 metres");
  fireEvent.click(screen.getByText("Paint"));
  await waitFor(() => expect(received).toHaveLength(2));
  fireEvent.click(screen.getByText("Film"));
  await waitFor(() => expect(received).toEqual([sent.chat, sent.image, sent.video]));
});
