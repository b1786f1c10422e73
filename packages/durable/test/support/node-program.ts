import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ListedBucket } from "@sluice/durable";
import { folderBucket } from "@sluice/durable/node";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";
import { newSchema, url } from "./postgres.js";
import { startS3 } from "./s3-server.js";

/** Bindings of a Worker, and the place of its objects. */
interface Program {
  readonly host: "node" | "postgres";
  /** Lease of a process on Postgres, in milliseconds. @default 6_000 */
  readonly leaseMs?: number;
  readonly texts: Readonly<Record<string, string>>;
  /** Bindings whose values are JSON. */
  readonly values?: object;
  /** Bindings to objects, with the names of their classes. */
  readonly classes: Readonly<Record<string, string>>;
  /** The bucket `MEDIA`, as the program opens it. @default none */
  readonly media?: string;
}

/** A bucket that a test looks into while a program has it. */
interface OpenBucket {
  readonly bucket: ListedBucket;
  /** The words by which a program opens it. */
  readonly opening: string;
  close(): Promise<void>;
}

/** Opens a bucket in a folder, or with `SLUICE_BUCKET=s3` one of an S3 API. */
export async function openBucket(folder: string): Promise<OpenBucket> {
  if (process.env["SLUICE_BUCKET"] !== "s3") {
    const opening = `folderBucket(${JSON.stringify(folder)})`;
    return { bucket: folderBucket(folder), opening, close: async () => {} };
  }
  const { bucket, options, close } = await startS3();
  return { bucket, opening: `s3Bucket(${JSON.stringify(options)})`, close };
}

/**
 * Writes `server.js`, which serves a Worker on Node with its objects in this folder or in Postgres, and says on its third output where, as
 * workerd does.
 */
export async function writeNodeProgram(
  folder: string,
  code: string,
  { host, leaseMs = 6_000, texts, values, classes, media }: Program,
): Promise<void> {
  const objects = Object.entries(classes).map(([binding, kind]) => `${binding}: worker.${kind}`);
  const store =
    host === "node" ? 'file: "objects.db"' : `url: "${url}", schema: "${newSchema()}", leaseMs: ${leaseMs}`;
  const binding = media === undefined ? "" : `MEDIA: ${media}`;
  const program = `import { writeSync } from "node:fs";
import { folderBucket, openObjects, s3Bucket, serve } from "./host.js";
import * as worker from "./worker.js";
const given = { ...${JSON.stringify({ ...texts, ...values })}, ${binding} };
const { env } = await openObjects({ ${store}, env: given, objects: { ${objects} } });
const context = { waitUntil: (work) => void work.catch(() => {}) };
const { url } = await serve({ fetch: (request) => worker.default.fetch(request, env, context) }, { port: Number(process.argv[2] ?? 0) });
writeSync(3, JSON.stringify({ event: "listen", port: new URL(url).port }) + "\\n");`;
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "worker.js"), code);
  await writeFile(join(folder, "host.js"), await bundle(`durable/test/fixture/${host}-host.ts`));
  await linkPostgres(folder);
  await writeFile(join(folder, "server.js"), program);
}

/** Lets programs of a folder import the clients of Postgres. */
export async function linkPostgres(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"));
  for (const name of ["pg", "postgres"]) {
    const installed = fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url));
    await symlink(installed, join(folder, "node_modules", name));
  }
}
