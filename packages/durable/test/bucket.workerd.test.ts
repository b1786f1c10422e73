import { env } from "cloudflare:workers";
import type { Bucket } from "@sluice/durable";
import { bucketTests } from "@sluice/durable/testing";
import { describe, test } from "vitest";

/* R2: its behavior is the contract of buckets. */

describe("R2", () => {
  bucketTests({ open: () => (env as unknown as { MEDIA: Bucket }).MEDIA, test });
});
