import { InMemoryTransport, Client as McpClient } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { createClient, type Tool } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { loadMcpTools } from "@sluice/mcp/tools";
import { createChatStore } from "@sluice/stores";
import { expect, onTestFinished, test } from "vitest";

const schema = { type: "object" as const, properties: { path: { type: "string" } }, required: ["path"] };
const read = {
  name: "read.file",
  description: "Reads a file",
  inputSchema: schema,
  annotations: { readOnlyHint: true },
};
const remove = { name: "remove_file", description: "Removes a file", inputSchema: schema };

/** Connects a client to a server that lists `tools` in pages of one. */
async function connectServer(tools: readonly (typeof read | typeof remove)[], result: object) {
  const calls: unknown[] = [];
  const server = new Server({ name: "files", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", ({ params }) => {
    const index = Number(params?.cursor ?? 0);
    return {
      tools: tools.slice(index, index + 1),
      ...(index + 1 < tools.length && { nextCursor: `${index + 1}` }),
    };
  });
  server.setRequestHandler("tools/call", ({ params }) => {
    calls.push(params);
    return result as { content: [] };
  });
  const mcp = new McpClient({ name: "test", version: "1" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), mcp.connect(other)]);
  onTestFinished(() => mcp.close());
  return { mcp, calls };
}

const context: Parameters<NonNullable<Tool["execute"]>>[1] = {
  signal: new AbortController().signal,
  toolCallId: "call",
  messages: [],
  savedState: undefined,
  saveState: async () => {},
  reportProgress: () => {},
  attachFile: () => {},
};
const hello = { content: [{ type: "text", text: "hello" }] };

test("All pages of tools become tools of a chat, with names that a gateway accepts", async () => {
  const { mcp, calls } = await connectServer([read, remove], hello);
  const tools = await loadMcpTools(mcp, { prefix: "disk_" });
  expect(tools.map(({ name }) => name)).toEqual(["disk_read_file", "disk_remove_file"]);
  expect((await tools[0]?.definition())?.function).toMatchObject({
    description: "Reads a file",
    parameters: schema,
  });
  expect(await tools[0]?.execute?.({ path: "/a" }, context)).toBe("hello");
  expect(calls).toMatchObject([{ name: "read.file", arguments: { path: "/a" } }]);
});

test("A tool needs the user's approval unless it is read-only, or the app decides", async () => {
  const { mcp } = await connectServer([read, remove], hello);
  const readNeeds = async (settings: object) =>
    Promise.all((await loadMcpTools(mcp, settings)).map((tool) => tool.needsApproval({})));
  expect(await readNeeds({})).toEqual([false, true]);
  expect(await readNeeds({ needsApproval: () => true })).toEqual([true, true]);
  expect(await readNeeds({ only: ["remove_file"], needsApproval: () => false })).toEqual([false]);
});

test("Two tools with one name are refused", async () => {
  const { mcp } = await connectServer([read, { ...read, name: "read_file" }], hello);
  await expect(loadMcpTools(mcp)).rejects.toThrow("two tools have the name read_file");
});

test("A result is text and links: no Base64 reaches the model", async () => {
  const data = "iVBORw0KGgo".repeat(20);
  const { mcp } = await connectServer([read], {
    content: [
      { type: "image", data, mimeType: "image/png" },
      { type: "resource_link", uri: "file:///a.png", name: "a" },
      { type: "resource", resource: { uri: "file:///a.txt", text: "words" } },
    ],
  });
  const [tool] = await loadMcpTools(mcp);
  expect(await tool?.execute?.({}, context)).toBe(
    "[image of type image/png, which is not shown]\nfile:///a.png\nwords",
  );
});

test("A tool that reports an error fails with its message", async () => {
  const { mcp } = await connectServer([read], {
    isError: true,
    content: [{ type: "text", text: "no such file" }],
  });
  const [tool] = await loadMcpTools(mcp);
  await expect(tool?.execute?.({}, context)).rejects.toThrow("no such file");
});

test("A chat runs a remote tool once the user has approved it", async () => {
  const { mcp, calls } = await connectServer([remove], hello);
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const client = createClient(emulator.clientOptions);
  const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: await loadMcpTools(mcp) });
  await chat.send('Use the tool: remove "notes.txt"');
  const [action] = chat.getSnapshot().pendingActions;
  expect(action).toMatchObject({ type: "approval", name: "remove_file" });
  expect(calls).toEqual([]);
  await chat.approve(action?.toolCallId ?? "");
  await expect.poll(() => chat.getSnapshot().status).toBe("ready");
  expect(calls).toHaveLength(1);
});
