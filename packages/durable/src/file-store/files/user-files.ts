import {
  type AdminOperation,
  type AdmittedRequest,
  Refusal,
  type UserData,
} from "@sluice/worker-proxy/plugin";
import { readText } from "../../admin/body.js";
import { type ExportPage, exportPage } from "../../admin/export-page.js";
import { PART_BYTES } from "./options.js";
import { refuseBucketFailure } from "./refusals.js";
import { eraseFiles, removeFile, sweepPage } from "./removal.js";
import type { Store, UserFiles } from "./store.js";
import { type FileRow, isVisible, readFile, readPage } from "./tables.js";

/** Creates the functions for operators to export, erase and remove the files of a user. */
export function createUserFiles<Env>(store: Store<Env>) {
  const userData: UserData<Env> = { name: "files", eraseUser, exportUser };
  const operations: readonly AdminOperation<Env>[] = [
    {
      name: "files/remove",
      run: async (env, body) => ({
        removed: await removeOne(env, readText(body, "user"), readText(body, "id")),
      }),
    },
  ];
  return { userData, operations };

  async function removeOne(env: Env, userId: string, id: string): Promise<boolean> {
    const { run, remove } = await store.open(env, userId);
    const row = await run(readFile, { id });
    if (!row || !isVisible(row)) return false;
    // the row stays, and counts as used space, until the bucket has deleted the file
    await remove(await run(removeFile, { id }));
    return true;
  }

  async function eraseUser(env: Env, userId: string): Promise<void> {
    const { run } = await store.open(env, userId);
    // marks the rows. They stay until the bucket has deleted their files, so that a failed deletion can be repeated
    for (let after: string | undefined = ""; after !== undefined; ) after = await run(eraseFiles, { after });
    const context = { host: store.server.host(env), env };
    for (let isMore = true; isMore; ) {
      const { count, cause } = await sweepPage(store, context, userId);
      if (cause !== undefined) throw refuseBucketFailure(cause);
      isMore = count > 0;
    }
  }

  async function exportUser(env: Env, userId: string, cursor?: string): Promise<ExportPage> {
    const { run } = await store.open(env, userId);
    return await exportPage(cursor, async (after) => (await run(readPage, { after })).files, exportFile);
  }
}

function exportFile(row: FileRow) {
  const { id, state, bytes, received, type, dueAt, isCopy, attempts, taskId } = row;
  // the row of a copy that waits or has failed has no bytes, but is exported
  const isStored = state !== "queued" && state !== "ended";
  if (isStored && !isVisible(row)) return undefined;
  const known = { id, state, bytes, received, type, isCopy: isCopy === 1, attempts };
  return { ...known, dueAt, taskId: taskId ?? undefined };
}

/** Matches a URL without a query, or with only a cursor. */
const CURSOR = /^[^?]*(?:\?cursor=([\w-]{1,64}))?$/;

/** Creates the handler of `GET /v1/uploads`, which lists the files of the user page by page. */
export function createFileList<Env>(store: Store<Env>) {
  return async (admitted: AdmittedRequest<Env>): Promise<Response> => {
    const { request, env, user } = admitted;
    const query = CURSOR.exec(request.url);
    if (!query) throw new Refusal("query_not_allowed");
    const files = await store.open(env, user.id);
    const { files: rows, next } = await files.run(readPage, { after: query[1] ?? "" });
    const tenancy = await store.server.openTenancy(env, user);
    const described = rows.filter(isVisible).map(async (row) => {
      const { taskId } = row;
      const task = taskId !== null && { taskId: (await tenancy?.sign("task", taskId)) ?? taskId };
      return { ...(await describeFile(store, request, files, row)), ...task };
    });
    return Response.json({ files: await Promise.all(described), next });
  };
}

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
 * Creates the current link to a file. `expiresAt` is the expiry of the link and `storedUntil` the expiry of the file, in
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
