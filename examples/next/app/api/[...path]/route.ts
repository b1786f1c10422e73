import { createProxy } from "@sluice/worker-proxy";

const proxy = createProxy({
  baseURL: () => process.env.GATEWAY_URL ?? "",
  apiKey: () => process.env.GATEWAY_API_KEY,
  // yours: the user that the session names, or null; this one is of your own machine
  authenticate: () => (process.env.DEVELOPMENT_USER ? { id: process.env.DEVELOPMENT_USER } : null),
  origins: () => [process.env.APP_ORIGIN ?? "http://localhost:3000"],
  models: ["delta-5.3"],
  basePath: "/api",
});

const handle = (request: Request) => proxy.fetch(request);

export { handle as GET, handle as POST };
