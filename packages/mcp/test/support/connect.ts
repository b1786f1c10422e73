import { InMemoryTransport, Client as McpClient } from "@modelcontextprotocol/client";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type ClientOptions, createClient } from "@sluice/core";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { createMcpServer, type McpServerOptions } from "@sluice/mcp";
import { onTestFinished } from "vitest";

/** Settings of {@link connect}. */
export interface Setup {
  readonly emulator?: EmulatorOptions;
  readonly client?: Partial<ClientOptions>;
  readonly server?: McpServerOptions;
  /** Revision of the caller's protocol: with a handshake, or of 2026-07-28. */
  readonly era?: "old" | "new";
}

/** Result of an MCP tool. */
export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly {
    readonly type: string;
    readonly text?: string;
    readonly uri?: string;
    readonly data?: string;
    readonly mimeType?: string;
  }[];
  readonly structuredContent?: Record<string, unknown>;
}

/** Connects the official MCP client to the server, and the server to an emulator. */
export async function connect({ emulator: gateway, client: more, server: options, era = "new" }: Setup = {}) {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, ...gateway });
  const client = createClient({ ...emulator.clientOptions, random: () => 0, retry: { limit: 0 }, ...more });
  const mcp = new McpClient(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: era === "new" ? "auto" : "legacy" } },
  );
  const [one, other] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer(client, options);
  serveStdio(() => server, { transport: one });
  await mcp.connect(other);
  onTestFinished(() => mcp.close());
  const call = async (name: string, args: object, limits?: Parameters<McpClient["callTool"]>[1]) =>
    (await mcp.callTool({ name, arguments: { ...args } }, limits)) as unknown as ToolResult;
  /** Lists the requests to the gateway that would be billed. */
  const countPosts = () => emulator.requests.filter(({ method }) => method === "POST").length;
  return { emulator, client, mcp, call, countPosts };
}

/** Joins the texts of a result. */
export function joinTexts({ content }: ToolResult): string {
  return content.flatMap(({ text }) => text ?? []).join("\n");
}

export const IMAGE = "image_gamma-image-5-0-260128";
export const VIDEO = "video_start_beta3_0-video";
export const CHAT = "chat_delta-5_3";
export const question = { messages: [{ role: "user", content: "Why is the sky blue?" }] };
