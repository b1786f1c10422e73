import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { type ClientOptions, createClient } from "@sluice/core";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { createMcpServer, type McpServerOptions } from "@sluice/mcp";
import { onTestFinished } from "vitest";

/** Settings of {@link connected}. */
export interface World {
  readonly emulator?: EmulatorOptions;
  readonly client?: Partial<ClientOptions>;
  readonly server?: McpServerOptions;
}

/** Answer of an MCP tool. */
export interface Answer {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly uri?: string }[];
  readonly structuredContent?: Record<string, unknown>;
}

/** Connects the official MCP client to the server, and the server to an emulator. */
export async function connected({ emulator: gateway, client: more, server: options }: World = {}) {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, ...gateway });
  const client = createClient({ ...emulator.clientOptions, random: () => 0, retry: { limit: 0 }, ...more });
  const server = createMcpServer(client, options);
  const mcp = new McpClient({ name: "test", version: "1.0.0" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), mcp.connect(other)]);
  onTestFinished(() => mcp.close());
  const call = async (name: string, args: object, limits?: Parameters<McpClient["callTool"]>[2]) =>
    (await mcp.callTool({ name, arguments: { ...args } }, undefined, limits)) as unknown as Answer;
  /** Requests that the gateway has got and that would be billed. */
  const bills = () => emulator.requests.filter(({ method }) => method === "POST").length;
  return { emulator, client, mcp, call, bills };
}

/** Joins the texts of an answer. */
export function textOf({ content }: Answer): string {
  return content.flatMap(({ text }) => text ?? []).join("\n");
}

export const IMAGE = "image_gamma-image-5-0-260128";
export const VIDEO = "video_start_beta3_0-video";
export const CHAT = "chat_delta-5_3";
export const question = { messages: [{ role: "user", content: "Why is the sky blue?" }] };
