import { defineTool, type Tool } from "@sluice/core";

/** A tool in the list of an MCP server. */
interface McpTool {
  /** Name of the tool at the server. */
  readonly name: string;
  /** Name for people. */
  readonly title?: string | undefined;
  /** Description for the model. */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments. */
  readonly inputSchema: { readonly [keyword: string]: unknown };
  /** Claims of the server about the tool. */
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}

/** The methods of `Client` of `@modelcontextprotocol/client` that {@link loadMcpTools} uses. */
interface McpConnection {
  /** Lists one page of the server's tools. */
  listTools(params?: { cursor: string }): Promise<{
    readonly tools: readonly McpTool[];
    readonly nextCursor?: string | undefined;
  }>;
  /** Calls a tool. */
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    options: {
      signal: AbortSignal;
      timeout: number;
      resetTimeoutOnProgress: boolean;
      onprogress: () => void;
    },
  ): Promise<unknown>;
}

/** Options of {@link loadMcpTools}. */
export interface McpToolOptions {
  /** Names of the tools to load. @default all */
  readonly only?: readonly string[] | undefined;
  /** Prefix of each name, to distinguish the tools of several servers: `files_`. @default "" */
  readonly prefix?: string | undefined;
  /**
   * Returns true if the user must approve each call of the tool. A server may claim `readOnlyHint` wrongly: return
   * `true` for a server that you do not trust.
   *
   * @default true unless the tool has `readOnlyHint`
   */
  readonly needsApproval?: ((tool: McpTool) => boolean) | undefined;
  /** Milliseconds until a running call counts as failed. @default 300_000 */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 300_000;

/**
 * Loads the tools of an MCP server as tools of a chat. The user approves each call, unless the server marks the tool as
 * read-only. Results are texts and links: a Base64 image or audio is replaced by its type.
 *
 * @param connection a connected `Client` of `@modelcontextprotocol/client`
 * @throws the errors of `listTools`
 * @throws {TypeError} for two tools with one name
 * @example
 * ```ts
 * import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
 *
 * const mcp = new McpClient({ name: "my-app", version: "1.0.0" });
 * await mcp.connect(new StreamableHTTPClientTransport(new URL("https://files.example/mcp")));
 * const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: await loadMcpTools(mcp) });
 * ```
 */
export async function loadMcpTools(connection: McpConnection, options: McpToolOptions = {}): Promise<Tool[]> {
  const { only, prefix = "" } = options;
  const chosen = (await listAllTools(connection)).filter(({ name }) => !only || only.includes(name));
  const names = chosen.map(({ name }) => `${prefix}${name}`.replace(/[^\w-]/g, "_").slice(0, 64));
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined)
    throw new TypeError(
      `two tools have the name ${duplicate}: choose some by \`only\`, or another \`prefix\``,
    );
  return chosen.map((tool, index) => toChatTool(connection, tool, names[index] ?? tool.name, options));
}

function toChatTool(connection: McpConnection, tool: McpTool, name: string, options: McpToolOptions): Tool {
  const { needsApproval = ({ annotations }) => !annotations?.readOnlyHint, timeoutMs = TIMEOUT_MS } = options;
  return defineTool<unknown, string>({
    name,
    description: tool.description ?? tool.title ?? "",
    inputSchema: tool.inputSchema,
    needsApproval: needsApproval(tool),
    timeoutMs,
    async execute(input, { signal }) {
      const params = { name: tool.name, arguments: input as Record<string, unknown> };
      // the tool's own time limit ends first, so that the chat reports it
      const requestOptions = {
        signal,
        timeout: timeoutMs + 1000,
        resetTimeoutOnProgress: true,
        onprogress() {},
      };
      const result = (await connection.callTool(params, requestOptions)) as CallResult;
      const text = readText(result);
      if (result.isError) throw new Error(text || "the tool failed without a reason");
      return text;
    },
  });
}

/** Lists all tools, page by page. Stops at a repeated cursor, which would never end. */
async function listAllTools(connection: McpConnection): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await connection.listTools(cursor === undefined ? undefined : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor !== undefined && cursors.has(cursor)) break;
    if (cursor !== undefined) cursors.add(cursor);
  } while (cursor !== undefined);
  return tools;
}

/** The fields of a result that are read. */
interface CallResult {
  readonly isError?: boolean;
  readonly content?: readonly {
    readonly type: string;
    readonly text?: string;
    readonly uri?: string;
    readonly mimeType?: string;
    readonly resource?: { readonly uri: string; readonly text?: string };
  }[];
  readonly structuredContent?: unknown;
}

/** Joins the texts and links of a result. */
function readText({ content = [], structuredContent }: CallResult): string {
  const parts = content.map(({ type, text, uri, mimeType, resource }) => {
    if (text !== undefined) return text;
    if (uri !== undefined) return uri;
    if (resource) return resource.text ?? resource.uri;
    return `[${type}${mimeType ? ` of type ${mimeType}` : ""}, which is not shown]`;
  });
  if (parts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return parts.join("\n");
}
