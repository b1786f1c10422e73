export { createMcpServer, type McpServerOptions } from "./server.js";
