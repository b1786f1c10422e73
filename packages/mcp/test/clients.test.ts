import { InMemoryTransport, Client as NewClient } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport as OldTransport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createClient, type Tool } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createMcpServer } from "@sluice/mcp";
import { loadMcpTools } from "@sluice/mcp/tools";
import { describe, expect, onTestFinished, test } from "vitest";
import { IMAGE } from "./support/connect.js";

/* The official clients of both generations, against one server. */

const name = { name: "agent", version: "1.0.0" };

/** Connects a client to a server in front of an emulator. The result has the methods that all clients share. */
async function connect(kind: "SDK 1" | "SDK 2, with a handshake" | "SDK 2, without one") {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const client = createClient(emulator.clientOptions);
  const [one, other] = InMemoryTransport.createLinkedPair();
  serveStdio(() => createMcpServer(client, { progressMs: 5 }), { transport: one });
  type Limits = { signal: AbortSignal; onprogress: () => void };
  if (kind === "SDK 1") {
    const mcp = new OldClient(name);
    await mcp.connect(other as OldTransport);
    onTestFinished(() => mcp.close());
    const call = (tool: string, input: Record<string, unknown>, limits?: Limits) =>
      mcp.callTool({ name: tool, arguments: input }, undefined, limits);
    return { emulator, call, list: () => mcp.listTools() };
  }
  const mode = kind === "SDK 2, without one" ? "auto" : "legacy";
  const mcp = new NewClient(name, { versionNegotiation: { mode } });
  await mcp.connect(other);
  expect(mcp.getProtocolEra()).toBe(mode === "auto" ? "modern" : "legacy");
  onTestFinished(() => mcp.close());
  const call = (tool: string, input: Record<string, unknown>, limits?: Limits) =>
    mcp.callTool({ name: tool, arguments: input }, limits);
  return { emulator, call, list: () => mcp.listTools() };
}

describe.each(["SDK 1", "SDK 2, with a handshake", "SDK 2, without one"] as const)(
  "A client of %s",
  (kind) => {
    test("lists the tools, and gets messages, images, tasks and errors", async () => {
      const { call, list } = await connect(kind);
      expect((await list()).tools).toHaveLength(14);
      const messages = [{ role: "user", content: "Why is the sky blue?" }];
      expect(await call("chat_delta-5_3", { messages })).toMatchObject({
        content: [{ type: "text", text: expect.stringContaining("sky") }],
        structuredContent: { outcome: "complete" },
      });
      expect(await call(IMAGE, { prompt: "A reef" })).toMatchObject({
        content: [{ type: "text" }, { type: "resource_link" }, { type: "image", mimeType: "image/png" }],
      });
      const started = await call("video_start_beta3_0-video", { input: { prompt: "A reef" } });
      const { id, model } = started.structuredContent as { id: string; model: string };
      expect(await call("video_wait", { id, model })).toMatchObject({
        structuredContent: { state: "succeeded" },
      });
      expect(await call(IMAGE, { prompt: "A reef", size: "1x1" })).toMatchObject({ isError: true });
    });

    test("gets progress, and cancels a call", async () => {
      const { call, emulator } = await connect(kind);
      const caller = new AbortController();
      const onprogress = () => caller.abort(new Error("seen enough"));
      const calling = call(IMAGE, { prompt: "A reef [[stall]]" }, { signal: caller.signal, onprogress });
      await expect(calling).rejects.toThrow("seen enough");
      await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
    });
  },
);

test.each(["legacy", "auto"] as const)(
  "loadMcpTools runs the tools of a server, connected with %s",
  async (mode) => {
    const client = createClient(createEmulator({ speed: Number.POSITIVE_INFINITY }).clientOptions);
    const [one, other] = InMemoryTransport.createLinkedPair();
    serveStdio(() => createMcpServer(client, { models: ["beta3.0-video"] }), { transport: one });
    const mcp = new NewClient(name, { versionNegotiation: { mode } });
    await mcp.connect(other);
    onTestFinished(() => mcp.close());
    const [start, status] = await loadMcpTools(mcp);
    expect([start?.name, await start?.needsApproval({}), await status?.needsApproval({})]).toEqual([
      "video_start_beta3_0-video",
      true,
      false,
    ]);
    const context = { signal: new AbortController().signal } as Parameters<NonNullable<Tool["execute"]>>[1];
    expect(await start?.execute?.({ input: { prompt: "A reef" } }, context)).toContain(
      "The video is started",
    );
  },
);

test("A server over HTTP is created for each request, and bills one idempotency key once", async () => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const client = createClient(emulator.clientOptions);
  const handler = createMcpHandler(() => createMcpServer(client));
  onTestFinished(() => handler.close());
  const call = async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const input = { prompt: "A reef", idempotency_key: "k-0123456789" };
    const request = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: IMAGE, arguments: input },
    };
    const response = await handler.fetch(
      new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(request) }),
    );
    return response.text();
  };
  const [first, second] = await Promise.all([call(), call()]);
  expect(first).toContain("resource_link");
  expect(second).toBe(first);
  expect(await call()).toBe(first);
  expect(emulator.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});
