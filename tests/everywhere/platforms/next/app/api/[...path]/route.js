import { createProxy } from "@sluice/worker-proxy";
import { options } from "../../../../proxy-options.js";

/* The proxy in a route handler. */

const proxy = createProxy({ ...options, basePath: "/api" });
const handle = (request) => proxy.fetch(request, process.env);

export { handle as GET, handle as POST };
