import { createServer } from "node:http";
import { nodeHost } from "@sluice/durable/node";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { openProxy } from "./proxy.ts";

const proxy = openProxy(nodeHost({ file: "sluice.db" }));
createServer(toNodeHandler((request) => proxy.fetch(request, {}))).listen(8787, () => {
  console.log("The server of examples/devices listens on http://localhost:8787");
});
