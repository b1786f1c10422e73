import { join } from "node:path";
import { folderBucket, nodeHost } from "@sluice/durable/node";
import type { Env } from "./proxy.ts";

/** The folder of the database and the files. */
export const folder = process.env.DATA_FOLDER || "data";

/** The database of the plugins: a file for this process, or Postgres for any number of processes. */
export const host = await openHost();

/** The files of users, and copies of videos and images. */
export const bucket = folderBucket(join(folder, "files"));

async function openHost() {
  const { DATABASE_URL: url } = process.env;
  if (!url) return nodeHost<Env>({ file: join(folder, "sluice.db") });
  const { postgresHost } = await import("@sluice/durable/postgres");
  return postgresHost<Env>({ url });
}
