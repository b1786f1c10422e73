import type { AdminOperation, AdmittedRequest, UserData } from "@sluice/worker-proxy";
import { createTenancy, Refusal } from "@sluice/worker-proxy/plugin";
import { readText } from "../../admin/body.js";
import { ExportPage } from "../../admin/export-page.js";
import { describeFile } from "./describe-file.js";
import { readCopies, readFile, readPage } from "./readings.js";
import { refuseFile } from "./refusals.js";
import { eraseFiles, sweepPage } from "./removal.js";
import type { Store } from "./store.js";
import type { CopyRow, FileRow } from "./tables.js";

/** Creates the functions for operators to export, erase and remove the files of a user. */
export function createUserFiles<Env>(store: Store<Env>) {
  const userData: UserData<Env> = { name: "files", eraseUser, exportUser };
  const operations: readonly AdminOperation<Env>[] = [
    {
      name: "files/remove",
      run: async (env, body) => ({
        removed: await remove(env, readText(body, "user"), readText(body, "id")),
      }),
    },
  ];
  return { userData, operations };

  async function remove(env: Env, userId: string, id: string): Promise<boolean> {
    const { links, run, discard } = await store.open(env, userId);
    if (!(await links.isOwn(id, userId)) || !(await run(readFile, { id, now: Date.now() }))) return false;
    await discard(id, true);
    return true;
  }

  async function eraseUser(env: Env, userId: string): Promise<void> {
    const { run } = await store.open(env, userId);
    for (let after: string | undefined = ""; after !== undefined; )
      after = (await run(eraseFiles, { after, userId })).next;
    const context = { host: store.server.host(env), env };
    for (let isMore = true; isMore; ) {
      const { count, cause } = await sweepPage(store, context, userId);
      if (cause !== undefined)
        throw refuseFile("media_unavailable", { problem: "fileStore: the bucket failed", cause });
      isMore = count > 0;
    }
  }

  /** Exports the files, then the pending and finished copies. */
  async function exportUser(env: Env, userId: string, cursor = "files:"): Promise<ExportPage> {
    const { run } = await store.open(env, userId);
    const page = new ExportPage();
    const [, part = "files", from = ""] = /^(files|copies):([\w-]*)$/.exec(cursor) ?? [];
    let after: string | undefined = from;
    if (part === "files") {
      const { rows, next } = await run(readPage, { after, now: Date.now() });
      page.items.push(...rows.map(toUserFile));
      if (next !== undefined) page.cursor = `files:${next}`;
      after = next === undefined ? "" : undefined;
    }
    if (after === undefined) return page;
    const { rows, next } = await run(readCopies, { after });
    page.items.push(...rows.map(toUserCopy));
    if (next !== undefined) page.cursor = `copies:${next}`;
    return page;
  }
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
    const { rows, next } = await files.run(readPage, { after: query[1] ?? "", now: Date.now() });
    const secrets = await store.server.readSecrets(env);
    const { sign } = createTenancy(secrets, user);
    const described = rows.map(async (row) => {
      const { taskId } = row;
      const task = taskId !== null && { taskId: secrets.length > 0 ? await sign("task", taskId) : taskId };
      return { ...(await describeFile(store, request, files, row)), ...task };
    });
    return Response.json({ files: await Promise.all(described), next });
  };
}

function toUserCopy({ id, taskId, url, nextAt, attempts }: CopyRow) {
  return { id, taskId: taskId ?? undefined, isWaiting: url !== "", attempts, nextAt };
}

function toUserFile({ id, bytes, received, type, dueAt, isCopy, taskId }: FileRow) {
  return { id, bytes, received, type, expiresAt: dueAt, isCopy: isCopy === 1, taskId: taskId ?? undefined };
}
