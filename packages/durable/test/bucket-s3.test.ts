import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { type S3BucketOptions, s3Bucket } from "@sluice/durable/s3";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { startFaultyS3 } from "./support/faulty-s3.js";
import { startS3 } from "./support/s3-server.js";

/* A bucket of an S3 API that fails, over a server faultyS3 it and a real one. */

const PNG = { httpMetadata: { contentType: "image/png" } };
const NO_RANGE = { range: new Headers() };
const createStream = (bytes: number) => new Blob([new Uint8Array(bytes).fill(bytes % 251)]).stream();
const createError = (code: string, more = "") =>
  `<?xml version="1.0"?>\n<Error><Code>${code}</Code>${more}</Error>`;
const page = "<!doctype html><html><body>Welcome to our network</body></html>";

let server: Awaited<ReturnType<typeof startS3>>;
let faultyS3: Awaited<ReturnType<typeof startFaultyS3>>;
let options: S3BucketOptions;
let bucket: ReturnType<typeof s3Bucket>;

beforeAll(async () => {
  server = await startS3();
  faultyS3 = await startFaultyS3(server.options.endpoint);
  options = { ...server.options, endpoint: faultyS3.url };
});
beforeEach(() => {
  faultyS3.reset();
  // no pauses faultyS3 attempts
  vi.spyOn(Math, "random").mockReturnValue(0);
  bucket = s3Bucket(options);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await faultyS3.close();
  await server.close();
});

const failed = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable("it was done"),
    (error: Error) => error,
  );

describe("a secret of the bucket's account (case 180)", () => {
  const accessKeyId = "AKIACANARY0000000001";
  const secretAccessKey = "canary/secret+of-the-bucket-000000000001";

  test("is in no error, whatever the bucket or the network sends back", async () => {
    const own = s3Bucket({ ...options, accessKeyId, secretAccessKey });
    const leak = `<StringToSign>AWS4-HMAC-SHA256</StringToSign><Secret>${secretAccessKey}</Secret><AWSAccessKeyId>${accessKeyId}</AWSAccessKeyId>`;
    const faults = [
      { status: 403, body: createError("SignatureDoesNotMatch", leak) },
      { status: 403, body: createError(`Denied ${secretAccessKey}`) },
      { status: 400, body: leak },
    ];
    for (const fault of faults) {
      for (const method of ["GET", "PUT", "POST", "DELETE"]) faultyS3.fail(method, fault);
      for (const work of [
        () => own.get("media/a", NO_RANGE),
        () => own.createMultipartUpload("media/a", PNG),
        () => own.resumeMultipartUpload("media/a", "id").uploadPart(1, createStream(10)),
        () => own.delete(["media/a"]),
      ]) {
        const error = await failed(work());
        expect(inspect(error, { depth: 9 }) + JSON.stringify(error)).not.toMatch(/canary|AWS4-HMAC/i);
      }
      faultyS3.reset();
    }
    faultyS3.fail("GET", ...Array.from({ length: 4 }, () => ({ network: "refused" }) as const));
    expect(inspect(await failed(own.get("media/a", NO_RANGE)), { depth: 9 })).not.toMatch(
      /canary|AWS4-HMAC/i,
    );
  });

  test("is in no address: the signature is a header, and the hash of the bytes is signed", async () => {
    await bucket.put("media/signed", createStream(1000), PNG);
    await bucket.head("media/signed");
    for (const { url, headers, sha256 } of faultyS3.requests) {
      expect(url).toMatch(/^\/media\/media\/signed$/);
      expect(headers["x-amz-content-sha256"]).toBe(sha256);
      expect(headers.authorization).toMatch(/SignedHeaders=[^,]*x-amz-content-sha256/);
    }
    expect(faultyS3.requests).toHaveLength(2);
  });

  test("reaches only files of its bucket: a name that leads elsewhere sends nothing", async () => {
    for (const name of ["../other/a", "media/../../a", "/a", "media/a\0b", ""]) {
      await expect(bucket.put(name, createStream(10), PNG)).rejects.toThrow(TypeError);
      await expect(bucket.get(name, NO_RANGE)).rejects.toThrow(TypeError);
      await expect(bucket.delete([name])).rejects.toThrow(TypeError);
      expect(() => bucket.resumeMultipartUpload(name, "id")).toThrow(TypeError);
    }
    expect(faultyS3.requests).toEqual([]);
  });

  test("goes to no other host: a redirect is an error", async () => {
    let elsewhere = 0;
    const other = createServer((_, response) => {
      elsewhere += 1;
      response.end();
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const headers = { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/` };
    for (const [status, code] of [
      [301, "PermanentRedirect"],
      [307, "TemporaryRedirect"],
    ] as const) {
      faultyS3.fail("PUT", { status, headers, body: createError(code) });
      const { message } = await failed(bucket.put("media/a", createStream(10), PNG));
      expect(message).toBe(`s3Bucket: PUT got ${status} ${code}; give the endpoint of the bucket's region`);
    }
    expect(elsewhere).toBe(0);
  });

  test("is in no message about an option that can't work", () => {
    const secret = "canary secret";
    const wrong: Partial<Record<keyof S3BucketOptions, string>>[] = [
      { secretAccessKey: secret },
      { secretAccessKey: "" },
      { accessKeyId: `${secret}\n` },
      { endpoint: `https://user:${secret}@s3.example.com` },
      { endpoint: secret },
      { endpoint: "ftp://s3.example.com" },
      { bucket: `media/${secret}` },
      { region: secret },
    ];
    for (const option of wrong) {
      const [name = ""] = Object.keys(option);
      expect(() => s3Bucket({ ...options, ...option })).toThrow(`s3Bucket: ${name}: give`);
      expect(() => s3Bucket({ ...options, ...option })).not.toThrow(/canary/);
    }
  });
});

describe("a bucket that is busy or silent, or another server instead of the bucket (case 181)", () => {
  test("repeats a request to a busy bucket up to four times", async () => {
    faultyS3.fail("PUT", { status: 503, body: createError("SlowDown") }, { status: 500 }, { status: 429 });
    await bucket.put("media/busy", createStream(1000), PNG);
    expect((await bucket.head("media/busy"))?.size).toBe(1000);
    expect(faultyS3.requests.filter(({ method }) => method === "PUT")).toHaveLength(4);
    faultyS3.reset();
    faultyS3.fail("HEAD", ...Array.from({ length: 9 }, () => ({ status: 500 })));
    expect(await failed(bucket.head("media/busy"))).toMatchObject({ status: 500 });
    expect(faultyS3.requests).toHaveLength(4);
  });

  test("ends a request to a bucket that does not respond", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    faultyS3.fail("HEAD", { network: "silent" });
    const outcome = failed(bucket.head("media/a"));
    while (faultyS3.requests.length < 1) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(120_000);
    expect((await outcome).message).toBe("s3Bucket: HEAD got no response");
  });

  test("does not take status 200 with an error or a page as a complete file", async () => {
    const begun = async () => {
      const upload = await bucket.createMultipartUpload("media/parts", PNG);
      return { upload, parts: [await upload.uploadPart(1, createStream(1000))] };
    };
    const first = await begun();
    faultyS3.fail("POST uploadId", { status: 200, body: createError("InvalidPart") });
    expect(await failed(first.upload.complete(first.parts))).toMatchObject({ code: "InvalidPart" });
    faultyS3.fail("POST uploadId", { status: 200, body: page });
    expect((await failed(first.upload.complete(first.parts))).message).toContain("does not say");
    expect(await bucket.head("media/parts")).toBeNull();
    // S3 may report the failure of a long request with status 200
    faultyS3.fail("POST uploadId", { status: 200, body: `   ${createError("InternalError")}` });
    expect(await failed(first.upload.complete(first.parts))).toMatchObject({ code: "InternalError" });
    await first.upload.complete(first.parts);
    expect((await bucket.head("media/parts"))?.size).toBe(1000);
  });

  test("a page instead of a bucket's response stores and deletes nothing", async () => {
    const upload = bucket.resumeMultipartUpload("media/a", "id");
    faultyS3.fail("PUT", { status: 200, body: page });
    expect((await failed(bucket.put("media/a", createStream(10), PNG))).message).toContain("no etag");
    faultyS3.fail("DELETE", { status: 200, body: page });
    expect((await failed(bucket.delete(["media/a"]))).message).toContain("does not say");
    faultyS3.fail("PUT", { status: 200, body: page });
    expect((await failed(upload.uploadPart(1, createStream(10)))).message).toContain("no etag");
    faultyS3.fail("POST", { status: 200, body: page });
    expect((await failed(bucket.createMultipartUpload("media/a", PNG))).message).toContain("no id");
  });

  test("a file is missing only if the bucket says so, not if another server responds", async () => {
    expect(await bucket.get("media/none", NO_RANGE)).toBeNull();
    for (const body of [page, createError("NoSuchBucket")]) {
      faultyS3.fail("GET", { status: 404, body });
      faultyS3.fail("DELETE", { status: 404, body });
      expect(await failed(bucket.get("media/none", NO_RANGE))).toMatchObject({ status: 404 });
      expect(await failed(bucket.delete(["media/none"]))).toMatchObject({ status: 404 });
    }
    for (const status of [401, 403]) {
      faultyS3.fail("HEAD", { status });
      expect(await failed(bucket.head("media/none"))).toMatchObject({ status });
    }
  });

  test("deletes the other files if one can't be deleted, and reports that file", async () => {
    const keys = Array.from({ length: 20 }, (_, at) => `media/many-${at}`);
    for (const key of keys) await server.bucket.put(key, createStream(1), PNG);
    faultyS3.fail("DELETE many-7", { status: 403, body: createError("AccessDenied") });
    expect((await failed(bucket.delete(keys))).message).toContain("let the key read, write, delete and list");
    const remaining = await Promise.all(keys.map((key) => bucket.head(key)));
    expect(keys.filter((_, at) => remaining[at])).toEqual(["media/many-7"]);
    await bucket.delete(keys);
  });
});

describe("bytes of another file (case 182)", () => {
  test("rejects a whole file instead of a part, and a file without its metadata", async () => {
    const range = { range: new Headers({ range: "bytes=0-9" }) };
    faultyS3.fail("GET", { status: 200, body: page, headers: { etag: '"a"' } });
    expect((await failed(bucket.get("media/a", range))).message).toContain("no range");
    for (const headers of [{}, { etag: '"a"', "content-encoding": "identity" }] as const) {
      faultyS3.fail("GET", { status: 200, body: page, headers: { ...headers } });
      expect((await failed(bucket.get("media/a", NO_RANGE))).message).toMatch(/no (?:etag|size)/);
    }
  });

  test("a read fails if the response of the bucket breaks off", async () => {
    const broken = { etag: '"a"', "content-length": "1000", connection: "close" };
    faultyS3.fail("GET", { status: 200, body: "only the start", headers: broken });
    const file = await bucket.get("media/a", NO_RANGE);
    await expect(new Response(file?.body ?? null).arrayBuffer()).rejects.toThrow();
  });
});
