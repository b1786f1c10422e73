import { createProxy } from "@sluice/worker-proxy";
import { options } from "./proxy-options.js";

/* The proxy in a Worker. */

const proxy = createProxy(options);

export default { fetch: (request, env, context) => proxy.fetch(request, env, context) };
