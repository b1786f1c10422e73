export { createMcpServer, type McpServerOptions } from "./server/server.js";
