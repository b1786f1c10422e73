import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createMcpServer } from "../server.js";
import { UsageError } from "./connect.js";
import type { Task } from "./task.js";

/** Serves the Model Context Protocol over the input and the output of this process, until the input ends. */
export async function serveMcp({
  args,
  client,
  signal,
}: Pick<Task, "args" | "client" | "signal">): Promise<void> {
  const models = args.models
    ?.split(",")
    .map((id) => id.trim())
    .filter(Boolean);
  const server = serverOf();
  await server.connect(new StdioServerTransport());
  await new Promise<void>((resolve) => {
    server.onclose = resolve;
    signal.addEventListener("abort", () => void server.close());
    // a host that ends closes the input first
    process.stdin.on("end", () => void server.close());
  });

  function serverOf() {
    try {
      return createMcpServer(client, { models, folder: args.folder });
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  }
}
