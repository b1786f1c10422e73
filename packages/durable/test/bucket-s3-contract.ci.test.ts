import { s3Bucket } from "@sluice/durable/s3";
import { bucketTests } from "@sluice/durable/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startS3 } from "./support/s3-server.js";

/* The contract of buckets, on an S3 API. It sends files of several parts, of 8 MiB each. */

describe("an S3 API", () => {
  let server: Awaited<ReturnType<typeof startS3>>;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server.close());
  bucketTests({
    open: () => s3Bucket(server.options),
    test,
  });
});
