import { type CallToolResult, type ListToolsResult, Server } from "@modelcontextprotocol/server";
import type { Client } from "@sluice/core";
import { listenToRequests } from "../base/listen-to-requests.js";
import { reportEvery } from "../base/progress.js";
import { saveMedia } from "../base/save.js";
import { type Call, createText, type Input, type Result, type Tool } from "../base/tool.js";
import { readVersion } from "../base/version.js";
import { allModels, createTools } from "../tools/all.js";
import { describeFailure } from "./describe-failure.js";
import { insertFiles } from "./files.js";
import { createPaidCalls, mayBeBilled } from "./paid-calls.js";
import { addImages } from "./shown-images.js";

/** Options of {@link createMcpServer}. */
export interface McpServerOptions {
  /**
   * Ids of the models that get a tool. Fewer tools leave more room for the conversation.
   *
   * @default all models, and `gamma-asset`
   */
  readonly models?: readonly string[] | undefined;
  /**
   * Folder for images, videos and the ledger of paid calls, `sluice-calls.jsonl`. Results contain the paths of their
   * files. It is created on demand. Requests can use its images through `file:` URLs of at most 20 MB. No other file is
   * read.
   *
   * @default none: results contain links, which expire in about a day, and paid calls are recorded until the process
   * ends
   */
  readonly folder?: string | undefined;
  /** Maximum size of a saved file in bytes. A larger file stays a link. @default 104_857_600 */
  readonly maxBytes?: number | undefined;
  /** Milliseconds between two progress notifications. Hosts cancel a silent call. @default 5_000 */
  readonly progressMs?: number | undefined;
}

const INSTRUCTIONS =
  "Tools that cost money say so. Give each of their calls an idempotency_key that you choose at random. After an error that says that a call may be billed, do not repeat it with another key unless the user asks for it. Videos are started by video_start_… and fetched by video_wait.";

/**
 * Creates an MCP server whose tools chat, draw, make videos and register assets with `client`. Each connection needs
 * its own server: pass a function that creates a server to `serveStdio` or `createMcpHandler` of the official SDK. Both
 * serve clients of the protocol's old and new revisions.
 *
 * No call is paid twice. A call with a known `idempotency_key` gets the result of the first call. A call that may have
 * been billed is sent again only if a proxy with `idempotency()` (chats: `resumableStreams()`) stores its key. The ledger in `folder`
 * records the last 1,000 calls for all servers and processes that use the folder. Without a folder, all servers of one
 * `client` record them until the process ends.
 *
 * @throws {TypeError} for an unknown model
 * @example
 * ```ts
 * import { serveStdio } from "@modelcontextprotocol/server/stdio";
 *
 * const options = { models: ["gamma-image-5-0-260128"], folder: "/home/me/images" };
 * serveStdio(() => createMcpServer(client, options));
 * ```
 */
export function createMcpServer(client: Client, options: McpServerOptions = {}): Server {
  const { models = allModels, progressMs = 5000, folder, maxBytes } = options;
  const unknown = models.find((model) => !allModels.includes(model));
  if (unknown !== undefined)
    throw new TypeError(`models: ${unknown} is not known; there are ${allModels.join(", ")}`);
  const tools = new Map(createTools(client, models).map((tool) => [tool.name, tool]));
  const runPaid = createPaidCalls(client, folder);
  const server = new Server(
    { name: "sluice", version: readVersion() },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(
    "tools/list",
    () => ({ tools: [...tools.values()].map(describeTool) }) as ListToolsResult,
  );
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq: { signal, notify, _meta } }) => {
    const tool = tools.get(params.name);
    if (!tool)
      return createFailure(`There is no tool ${params.name}. There are ${[...tools.keys()].join(", ")}.`);
    const progressToken = _meta?.progressToken;
    const report = reportEvery(progressMs, (progress, message) => {
      if (progressToken === undefined) return;
      const notification = { progressToken, progress, message };
      // the signal reports a caller that disconnected
      notify({ method: "notifications/progress", params: notification }).catch(() => {});
    });
    try {
      return await callTool(tool, params.arguments ?? {}, signal, report);
    } finally {
      report.end();
    }
  });
  return server;

  /** Removes the gateway's key from a result. */
  function removeKey<Value extends object>(result: Value): Value {
    return JSON.parse(client.scrub(JSON.stringify(result)));
  }

  async function callTool(
    tool: Tool,
    input: Input,
    signal: AbortSignal,
    report: Call["report"],
  ): Promise<CallToolResult> {
    let isSent = false;
    let key: string | undefined;
    const listeningClient = listenToRequests(client, () => {
      isSent = true;
    });
    const send = async (idempotencyKey?: string) => {
      key = idempotencyKey;
      const { idempotency_key: _, ...given } = input;
      const fields = tool.paid ? await insertFiles(given, folder) : given;
      const save: Call["save"] = (url, name) => saveMedia(client, url, name, { folder, maxBytes, signal });
      return removeKey(
        await tool.run(fields, { client: listeningClient, signal, idempotencyKey, report, save }),
      );
    };
    try {
      const { name, paid } = tool;
      const result: Result = await (paid
        ? runPaid({ tool: name, feature: paid, input, signal }, send, () => isSent)
        : send());
      return { ...(tool.showsImages ? await addImages(client, result, signal) : result) };
    } catch (error) {
      signal.throwIfAborted();
      const failedCall = {
        key,
        mayBeBilled: mayBeBilled(error, () => isSent),
        hasProxy: client.idempotencyKeys,
      };
      return removeKey(createFailure(describeFailure(error, failedCall)));
    }
  }
}

function createFailure(text: string) {
  return { isError: true, content: [createText(text)] };
}

/** Describes a tool. Omits hints with their default value. */
function describeTool({ name, title, description, inputSchema, outputSchema, paid }: Tool) {
  const annotations = paid ? { destructiveHint: false } : { readOnlyHint: true, idempotentHint: true };
  return { name, title, description, inputSchema, ...(outputSchema && { outputSchema }), annotations };
}
