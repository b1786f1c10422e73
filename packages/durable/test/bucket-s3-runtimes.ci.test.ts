import { bucketTests } from "@sluice/durable/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimes, startRuntime } from "./support/runtimes.js";
import { startS3 } from "./support/s3-server.js";

/* The contract of buckets with an S3 API, in the other runtimes that have `fetch`. The server is that of `bucket-s3-contract`. */

const names = Object.keys(runtimes) as (keyof typeof runtimes)[];

describe.each(names)("an S3 API in %s", (name) => {
  let server: Awaited<ReturnType<typeof startS3>>;
  let runtime: Awaited<ReturnType<typeof startRuntime>>;
  beforeAll(async () => {
    server = await startS3();
    runtime = await startRuntime(name, "durable/test/fixture/s3-contract.ts");
  });
  afterAll(async () => {
    await runtime.close();
    await server.close();
  });

  bucketTests({
    // it is opened there
    open: () => expect.unreachable("the test runs in the other process"),
    test: (title) =>
      test(title, async () => {
        const body = JSON.stringify({ title, options: server.options });
        const response = await fetch(runtime.url, {
          method: "POST",
          body,
          signal: AbortSignal.timeout(20_000),
        });
        expect(await response.text()).toBe("passed");
      }),
  });
});
