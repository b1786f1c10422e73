/// <reference path="./s3rver.d.ts" />
import crypto from "node:crypto";
import { access, mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import S3rver from "@20minutes/s3rver";
import S3Error from "@20minutes/s3rver/lib/models/error";
import { type S3BucketOptions, s3Bucket } from "@sluice/durable/s3";

/** A server of s3rver's. */
export interface Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
  readonly httpServer: { closeAllConnections(): void };
  readonly store: Store;
  readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
}

interface Store {
  getResourcePath(bucket: string, key: undefined, resource: string): string;
  putPart(bucket: string, uploadId: string, ...part: unknown[]): Promise<unknown>;
  putObject(object: { content: Readable }): Promise<unknown>;
  putObjectMultipart(bucket: string, uploadId: string, ...parts: unknown[]): Promise<unknown>;
  getObject(bucket: string, key: string, range?: Range): Promise<{ content: Readable; range: Range } | null>;
}

interface Range {
  readonly start?: number;
  readonly end?: number;
}

interface Context {
  readonly method: string;
  readonly query: { readonly uploadId?: string };
  status: number;
}

/** A server of the S3 API in this process, over HTTP. It checks signatures. */
export async function startS3() {
  const directory = await mkdtemp(join(tmpdir(), "sluice-s3-"));
  const server = new S3rver({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: "media", configs: [] }],
  });
  const inTurn = createTurns();
  completeStore(server.store, inTurn);
  server.middleware.unshift(endUploads(server.store, inTurn));
  const { port } = await server.run();
  const options: S3BucketOptions = {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: "media",
    region: "us-east-1",
    accessKeyId: "S3RVER",
    secretAccessKey: "S3RVER",
  };
  return {
    options,
    bucket: s3Bucket(options),
    async close() {
      server.httpServer.closeAllConnections();
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}

const findFolder = (store: Store, uploadId: string) =>
  join(store.getResourcePath("media", undefined, "uploads"), uploadId);

/** @throws {Error} S3's 404 for a missing upload */
async function checkUpload(store: Store, uploadId: string): Promise<void> {
  await access(join(findFolder(store, uploadId), "key")).catch(() => {
    throw new S3Error("NoSuchUpload", "There is no such upload.");
  });
}

type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Returns a function that runs one work at a time, in the order of its calls. */
function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
}

/** Corrects s3rver where it differs from S3: ended uploads, a range of the first byte, concurrent writes. */
function completeStore(store: Store, inTurn: Turns): void {
  const { putPart, putObject, putObjectMultipart, getObject } = store;
  store.putPart = async (bucket, uploadId, ...part) => {
    await checkUpload(store, uploadId);
    return await putPart.call(store, bucket, uploadId, ...part);
  };
  store.putObject = async (object) => {
    // read the body before its turn: the body of a disconnected client may never end
    object.content = Readable.from([Buffer.concat(await object.content.toArray())]);
    return await inTurn(() => putObject.call(store, object));
  };
  const turnStore = Object.assign(Object.create(store) as Store, { putObject });
  // s3rver hangs if another request for the same upload removes the parts while it opens them
  store.putObjectMultipart = (bucket, uploadId, ...parts) =>
    inTurn(async () => {
      await checkUpload(store, uploadId);
      return await putObjectMultipart.call(turnStore, bucket, uploadId, ...parts);
    });
  store.getObject = async (bucket, key, range) => {
    const object = await getObject.call(store, bucket, key, range);
    if (!object || range?.end !== 0) return object;
    for await (const piece of object.content) {
      const content = Readable.from([(piece as Buffer).subarray(0, 1)]);
      return Object.assign(object, { content, range: { start: 0, end: 0 } });
    }
    return object;
  };
}

/** Adds the request that aborts an upload. s3rver refuses its method after it has checked the signature. */
function endUploads(store: Store, inTurn: Turns): Server["middleware"][number] {
  return async (context, next) => {
    try {
      await next();
    } catch (error) {
      const { uploadId } = context.query;
      const isEnd = context.method === "DELETE" && uploadId !== undefined;
      if (!isEnd || (error as { code?: string }).code !== "MethodNotAllowed") throw error;
      await inTurn(async () => {
        await checkUpload(store, uploadId);
        await rm(findFolder(store, uploadId), { recursive: true });
      });
      context.status = 204;
    }
  };
}

/** Replaces DES, which s3rver's cursors need and OpenSSL 3 lacks, with Triple DES of three equal keys. */
for (const name of ["createCipheriv", "createDecipheriv"]) {
  const all = crypto as unknown as Record<string, (algorithm: string, key: Buffer, iv: Buffer) => unknown>;
  const create = all[name];
  all[name] = (algorithm, key, iv) =>
    algorithm === "des"
      ? create?.("des-ede3-cbc", Buffer.concat([key, key, key]), iv)
      : create?.(algorithm, key, iv);
}
