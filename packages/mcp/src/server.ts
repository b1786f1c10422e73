import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Client } from "@sluice/core";
import { hasOffer } from "@sluice/core/internal";
import { withFiles } from "./files.js";
import { createPaidCalls, mayBeBilled } from "./paid-calls.js";
import { reportEvery } from "./progress.js";
import { saveMedia } from "./save.js";
import { textOf } from "./texts.js";
import { allModels, toolsOf } from "./tools/all.js";
import { type Call, type Input, type Result, type Tool, text } from "./tools/tool.js";
import { readVersion } from "./version.js";

/** Options of {@link createMcpServer}. */
export interface McpServerOptions {
  /**
   * Ids of the models that get a tool. Fewer tools leave more room for the conversation.
   *
   * @default all models, and `gamma-asset`
   */
  readonly models?: readonly string[] | undefined;
  /**
   * Folder in which pictures and videos are saved; results have their paths. It is made when it is needed. Requests can
   * use its pictures, by `file:` addresses of at most 20 MB. No other file is read.
   *
   * @default none: results have links, which end in about a day
   */
  readonly folder?: string | undefined;
  /** Largest file that is saved, in bytes. A larger one keeps its link. @default 104_857_600 */
  readonly maxBytes?: number | undefined;
  /** Milliseconds between two notifications of progress. Hosts cancel a call that is silent. @default 5_000 */
  readonly progressMs?: number | undefined;
}

const INSTRUCTIONS =
  "Tools that cost money say so. Give each of their calls an idempotency_key that you choose at random. After an error that says that a call may be billed, do not repeat it with another key unless the user asks for it. Videos are started by video_start_… and fetched by video_wait.";

/**
 * Creates an MCP server whose tools chat, draw, make videos and register assets with `client`. Connect it to a transport.
 *
 * No call is paid twice: one with a known `idempotency_key` gets the result of the first. A call that may have been billed
 * is sent again only where a proxy with `once` (chats: a stream log) knows its key. Calls are remembered in memory: the
 * last 1,000 of this server.
 *
 * @throws {TypeError} for a model that is not known
 * @example
 * ```ts
 * import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
 *
 * const server = createMcpServer(client, { models: ["gamma-image-5-0-260128"], folder: "pictures" });
 * await server.connect(new StdioServerTransport());
 * ```
 */
export function createMcpServer(client: Client, options: McpServerOptions = {}): Server {
  const { models = allModels, progressMs = 5000 } = options;
  const unknown = models.find((model) => !allModels.includes(model));
  if (unknown !== undefined)
    throw new TypeError(`models: ${unknown} is not known; there are ${allModels.join(", ")}`);
  const tools = new Map(toolsOf(client, models).map((tool) => [tool.name, tool]));
  const runPaid = createPaidCalls((offer) => hasOffer(client, offer));
  const server = new Server(
    { name: "sluice", version: readVersion() },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(shown) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification, _meta }) => {
    const tool = tools.get(params.name);
    if (!tool) return failed(`There is no tool ${params.name}. There are ${[...tools.keys()].join(", ")}.`);
    const progressToken = _meta?.progressToken;
    const report = reportEvery(progressMs, (progress, message) => {
      if (progressToken === undefined) return;
      const notice = { progressToken, progress, message };
      // a caller that is gone is noticed by the signal
      sendNotification({ method: "notifications/progress", params: notice }).catch(() => {});
    });
    try {
      return await call(tool, params.arguments ?? {}, signal, report);
    } finally {
      report.end();
    }
  });
  return server;

  /** Removes the key from a result, whatever repeats it. */
  function clean(result: Result): { [field: string]: unknown } {
    return JSON.parse(client.scrub(JSON.stringify(result)));
  }

  async function call(tool: Tool, input: Input, signal: AbortSignal, report: Call["report"]) {
    let isSent = false;
    let key: string | undefined;
    const tracked: Client = {
      ...client,
      emit(event) {
        if (event.type === "request") isSent = true;
        client.emit(event);
      },
    };
    const { folder, maxBytes } = options;
    const send = async (idempotencyKey?: string) => {
      key = idempotencyKey;
      const { idempotency_key: _, ...given } = input;
      const fields = tool.paid ? await withFiles(given, folder) : given;
      const save: Call["save"] = (url, name) => saveMedia(client, url, name, { folder, maxBytes, signal });
      return tool.run(fields, { client: tracked, signal, idempotencyKey, report, save });
    };
    try {
      const asked = { tool: tool.name, offer: tool.paid ?? "", input, signal };
      return clean(await (tool.paid ? runPaid(asked, send, () => isSent) : send()));
    } catch (error) {
      signal.throwIfAborted();
      const facts = { key, mayBeBilled: mayBeBilled(error, () => isSent), hasProxy: client.idempotencyKeys };
      return clean(failed(textOf(error, facts)));
    }
  }
}

function failed(says: string) {
  return { isError: true, content: [text(says)] };
}

function shown({ name, title, description, inputSchema, paid }: Tool) {
  const annotations = {
    title,
    readOnlyHint: !paid,
    destructiveHint: false,
    idempotentHint: !paid,
    openWorldHint: true,
  };
  return { name, title, description, inputSchema, annotations };
}
