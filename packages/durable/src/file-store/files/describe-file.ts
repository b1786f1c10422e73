import type { AdmittedRequest } from "@sluice/worker-proxy";
import { PART_BYTES } from "./options.js";
import type { Store, UserFiles } from "./store.js";
import type { FileRow } from "./tables.js";

/** Returns the state of a file as the client sees it. A whole file has a link. */
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
 * Makes the newest link to a file, when it ends and when the file is deleted, in Unix milliseconds. It is at the public address of the proxy or at the address of the request. It stays the same for
 * a while, so that pages can cache what they have loaded.
 */
export async function linkFile<Env>(
  { settings: { publicURL, linkTtlMs }, server }: Store<Env>,
  { url }: AdmittedRequest<Env>["request"],
  { links }: UserFiles,
  { id, dueAt }: FileRow,
) {
  const base = publicURL?.replace(/\/+$/, "") ?? new URL(url).origin + server.basePath;
  const expiresAt = Math.min(dueAt, (Math.ceil(Date.now() / linkTtlMs) + 1) * linkTtlMs);
  return { url: `${base}/v1/media/${await links.sign(id, expiresAt)}`, expiresAt, keptUntil: dueAt };
}
