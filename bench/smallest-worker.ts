import { createProxy } from "@sluice/worker-proxy";

/** The smallest deployment, which `worker-cost.ts` measures: a chat, and nothing that has a default. */
export default createProxy({
  baseURL: "https://gateway.example.com",
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  authenticate: (request) => (request.headers.get("authorization") === "Bearer user" ? { id: "user" } : null),
  origins: ["https://app.example.com"],
  models: ["delta-5.3"],
});
