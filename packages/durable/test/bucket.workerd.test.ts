import { env } from "cloudflare:workers";
import type { Bucket } from "@sluice/durable";
import { bucketTests } from "@sluice/durable/testing";
import { describe, test } from "vitest";

/* R2, whose behaviour the contract of buckets is. */

describe("R2", () => {
  bucketTests({ open: () => (env as unknown as { MEDIA: Bucket }).MEDIA, test });
});
