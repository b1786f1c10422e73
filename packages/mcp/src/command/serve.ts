import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createMcpServer } from "../server/server.js";
import { UsageError } from "./connect.js";
import { checkFolder, type Task } from "./task.js";

/** Serves the Model Context Protocol over standard input and output until the input ends. */
export async function serveMcp({
  args,
  client,
  signal,
}: Pick<Task, "args" | "client" | "signal">): Promise<void> {
  const models = args.models
    ?.split(",")
    .map((id) => id.trim())
    .filter(Boolean);
  // report a wrong folder or model at the start, not to the first caller
  if (args.folder !== undefined) await checkFolder(args.folder);
  createServer();
  const served = serveStdio(createServer);
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve());
    // a host that exits closes the input first
    process.stdin.on("end", resolve);
    process.stdin.on("close", resolve);
  });
  await served.close();

  function createServer() {
    try {
      return createMcpServer(client, { models, folder: args.folder });
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  }
}
