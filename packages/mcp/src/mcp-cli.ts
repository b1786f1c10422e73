#!/usr/bin/env node
import { MCP_HELP } from "./command/help.js";
import { runHere } from "./command/run-here.js";

await runHere(["mcp", ...process.argv.slice(2)], MCP_HELP);
