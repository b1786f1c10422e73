import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderBucket } from "@sluice/durable/node";
import { s3Bucket } from "@sluice/durable/s3";
import { testBucket } from "@sluice/durable/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startS3 } from "./support/s3-server.js";

/* The contract of buckets, on each bucket of this package outside of Cloudflare. */

describe("a folder", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-bucket-"));
  });
  afterAll(() => rm(folder, { recursive: true }));
  testBucket({ open: () => folderBucket(folder), test });
});

describe("an S3 API", () => {
  let server: Awaited<ReturnType<typeof startS3>>;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server.close());
  testBucket({
    open: () => s3Bucket({ ...server.options, pageEndpoint: server.options.endpoint }),
    test,
  });
});
