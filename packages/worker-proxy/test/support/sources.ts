import { fileURLToPath } from "node:url";

const source = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** The sources of the packages that a Worker is made of, by their names, the longer ones first. */
export const sources = {
  "@sluice/core/sse": source("core/src/entries/sse.ts"),
  "@sluice/core/prices": source("core/src/entries/prices.ts"),
  "@sluice/core/schemas": source("core/src/entries/schemas.ts"),
  "@sluice/core/internal": source("core/src/entries/internal.ts"),
  "@sluice/core": source("core/src/entries/index.ts"),
  "@sluice/worker-proxy/auth": source("worker-proxy/src/auth/index.ts"),
  "@sluice/worker-proxy/analytics-engine": source("worker-proxy/src/analytics-engine.ts"),
  "@sluice/worker-proxy/metrics": source("worker-proxy/src/metrics/index.ts"),
  "@sluice/worker-proxy/node": source("worker-proxy/src/node.ts"),
  "@sluice/worker-proxy/internal": source("worker-proxy/src/internal.ts"),
  "@sluice/worker-proxy": source("worker-proxy/src/index.ts"),
  "@sluice/durable/node": source("durable/src/hosts/node/index.ts"),
  "@sluice/durable/indexed-db": source("durable/src/hosts/indexed-db/index.ts"),
  "@sluice/durable/s3": source("durable/src/hosts/s3/index.ts"),
  "@sluice/durable/postgres": source("durable/src/hosts/postgres/index.ts"),
  "@sluice/durable/testing": source("durable/src/testing/index.ts"),
  "@sluice/durable/runner": source("durable/src/conversations/runner/index.ts"),
  "@sluice/durable": source("durable/src/index.ts"),
};
