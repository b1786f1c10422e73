import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../../worker-proxy/test/support/bundle.js";
import { newSchema, url } from "./postgres.js";

/** What a Worker is bound to, and where its objects are. */
interface Program {
  readonly host: "node" | "postgres";
  /** Lease of a process on Postgres, in milliseconds. @default 6_000 */
  readonly leaseMs?: number;
  readonly texts: Readonly<Record<string, string>>;
  /** Bindings whose values are JSON. */
  readonly values?: object;
  /** Bindings to objects, with the names of their classes. */
  readonly classes: Readonly<Record<string, string>>;
  /** Folder of the bucket `MEDIA`. @default none */
  readonly files?: string;
}

/**
 * Writes `server.js`, which serves a Worker on Node with its objects in this folder or in Postgres, and says on its third output where, as
 * workerd does.
 */
export async function writeNodeProgram(
  folder: string,
  code: string,
  { host, leaseMs = 6_000, texts, values, classes, files }: Program,
): Promise<void> {
  const objects = Object.entries(classes).map(([binding, kind]) => `${binding}: worker.${kind}`);
  const store =
    host === "node" ? 'file: "objects.db"' : `url: "${url}", schema: "${newSchema()}", leaseMs: ${leaseMs}`;
  const media = files === undefined ? "" : `MEDIA: folderBucket(${JSON.stringify(files)})`;
  const program = `import { writeSync } from "node:fs";
import { folderBucket, openObjects, serve } from "./host.js";
import * as worker from "./worker.js";
const given = { ...${JSON.stringify({ ...texts, ...values })}, ${media} };
const { env } = await openObjects({ ${store}, env: given, objects: { ${objects} } });
const context = { waitUntil: (work) => void work.catch(() => {}) };
const { url } = await serve({ fetch: (request) => worker.default.fetch(request, env, context) }, { port: 0 });
writeSync(3, JSON.stringify({ event: "listen", port: new URL(url).port }) + "\\n");`;
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "worker.js"), code);
  await writeFile(join(folder, "host.js"), await bundle(`durable/test/fixture/${host}-host.ts`));
  await linkPostgres(folder);
  await writeFile(join(folder, "server.js"), program);
}

/** Lets programs of a folder import the package `postgres`. */
export async function linkPostgres(folder: string): Promise<void> {
  const installed = fileURLToPath(new URL("../../node_modules/postgres", import.meta.url));
  await mkdir(join(folder, "node_modules"));
  await symlink(installed, join(folder, "node_modules", "postgres"));
}
