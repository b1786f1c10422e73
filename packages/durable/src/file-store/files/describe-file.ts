import type { AdmittedRequest } from "@sluice/worker-proxy/plugin";
import { PART_BYTES } from "./options.js";
import type { Store, UserFiles } from "./store.js";
import type { FileRow } from "./tables.js";

/** Returns the state of a file for the client. A complete file has a link. */
export async function describeFile<Env>(
  store: Store<Env>,
  request: AdmittedRequest<Env>["request"],
  files: UserFiles,
  row: FileRow,
): Promise<object> {
  const { id, bytes, received, type } = row;
  const state = { id, bytes, offset: received, partBytes: PART_BYTES };
  if (row.state === "open") return { ...state, expiresAt: row.dueAt };
  return { ...state, type, ...(await linkFile(store, request, files, row)) };
}

/**
 * Creates the latest link to a file. `expiresAt` is the expiry of the link and `storedUntil` the expiry of the file, in
 * Unix milliseconds. The link starts with the public URL of the proxy, or with the URL of the request. It stays the
 * same for a while, so that pages can cache the file.
 */
export async function linkFile<Env>(
  { settings: { publicURL, linkTtlMs }, server }: Store<Env>,
  { url }: AdmittedRequest<Env>["request"],
  { links }: UserFiles,
  { id, dueAt }: FileRow,
) {
  const base = publicURL?.replace(/\/+$/, "") ?? new URL(url).origin + server.basePath;
  const expiresAt = Math.min(dueAt, (Math.ceil(Date.now() / linkTtlMs) + 1) * linkTtlMs);
  return { url: `${base}/v1/media/${await links.sign(id, expiresAt)}`, expiresAt, storedUntil: dueAt };
}
