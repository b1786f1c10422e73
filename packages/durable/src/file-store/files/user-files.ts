import type { AdminOperation, AdmittedRequest, UserData } from "@sluice/worker-proxy";
import { createTenancy, Refusal } from "@sluice/worker-proxy/plugin";
import { readCursor, readText } from "../../admin/body.js";
import { describeFile } from "./describe-file.js";
import { type Page, readCopies, readFile, readPage } from "./readings.js";
import { refuseFile } from "./refusals.js";
import { eraseFiles } from "./removal.js";
import type { Store, UserFiles } from "./store.js";
import { sweepPage } from "./sweep.js";
import type { CopyRow, FileRow } from "./tables.js";

/** A file of a user, as the operator sees it. */
interface UserFile {
  readonly id: string;
  /** The whole size, in bytes. */
  readonly bytes: number;
  /** The part that is stored, in bytes. */
  readonly received: number;
  readonly type: string;
  /** Unix milliseconds at which it is deleted. */
  readonly expiresAt: number;
  /** True for a copy of a file of the gateway. */
  readonly isCopy: boolean;
  /** The gateway's id of the task; absent for uploads and images. */
  readonly taskId?: string | undefined;
}

/** Makes the functions with which an operator reads and deletes what is stored for a user. */
export function createUserFiles<Env>(store: Store<Env>) {
  const userData: UserData<Env> = { name: "files", eraseUser, exportUser };
  const operations: readonly AdminOperation<Env>[] = [
    {
      name: "files/list",
      async run(env, body) {
        const after = readCursor(body) ?? "";
        const { rows, next } = await readUserPage(await store.open(env, readText(body, "user")), after);
        return { files: rows.map(toUserFile), cursor: next };
      },
    },
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

  async function exportUser(env: Env, userId: string): Promise<unknown> {
    const user = await store.open(env, userId);
    const files: UserFile[] = [];
    const copies: unknown[] = [];
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page: Page<FileRow> = await readUserPage(user, after);
      files.push(...page.rows.map(toUserFile));
      after = page.next;
    }
    for (let after: string | undefined = ""; after !== undefined; ) {
      const { rows, next }: Page<CopyRow> = await user.run(readCopies, { after });
      for (const { id, taskId, nextAt, attempts } of rows)
        copies.push({
          id,
          taskId: taskId ?? undefined,
          isOver: nextAt === null,
          attempts,
          nextAt: nextAt ?? undefined,
        });
      after = next;
    }
    return { files, copies };
  }
}

/** The query of a page: a cursor, or nothing. */
const CURSOR = /^[^?]*(?:\?cursor=([\w-]{1,64}))?$/;

/** Makes `GET /v1/uploads`: the files of the user who asks, a page at a time. */
export function createFileList<Env>(store: Store<Env>) {
  return async (admitted: AdmittedRequest<Env>): Promise<Response> => {
    const { request, env, user } = admitted;
    const query = CURSOR.exec(request.url);
    if (!query) throw new Refusal("query_not_allowed");
    const files = await store.open(env, user.id);
    const { rows, next } = await readUserPage(files, query[1] ?? "");
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

function readUserPage({ run }: UserFiles, after: string): Promise<Page<FileRow>> {
  return run(readPage, { after, now: Date.now() });
}

function toUserFile({ id, bytes, received, type, dueAt, isCopy, taskId }: FileRow): UserFile {
  return { id, bytes, received, type, expiresAt: dueAt, isCopy: isCopy === 1, taskId: taskId ?? undefined };
}
