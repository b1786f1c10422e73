import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderBucket } from "@sluice/durable/node";
import { bucketTests } from "@sluice/durable/testing";
import { afterAll, beforeAll, describe, test } from "vitest";

/* The contract of buckets, on a folder. `bucket-s3-contract` has it on an S3 API, and `bucket.workerd` on R2. */

describe("a folder", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-bucket-"));
  });
  afterAll(() => rm(folder, { recursive: true }));
  bucketTests({ open: () => folderBucket(folder), test });
});
