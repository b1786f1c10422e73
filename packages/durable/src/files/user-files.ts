import type { AdminOperation, User, UserData } from "@sluice/worker-proxy";
import { tenancyOf } from "@sluice/worker-proxy/internal";
import { cursorIn, textIn } from "../objects/operator-body.js";
import type { FileRow } from "./file-rows.js";
import type { FileRequest } from "./gates.js";
import type { Links } from "./links.js";
import { discard } from "./paid-file.js";
import type { Space } from "./space.js";
import type { StoreParts } from "./uploads.js";

/** A file of a user, as the operator sees it. */
export interface UserFile {
  readonly id: string;
  /** The whole size, in bytes. */
  readonly bytes: number;
  /** The part that is stored, in bytes: less than `bytes` of an upload or a copy that is not whole. */
  readonly received: number;
  readonly type: string;
  /** Unix milliseconds at which it is deleted. */
  readonly expiresAt: number;
  /** True for a copy of a file of the gateway's. */
  readonly isCopy: boolean;
  /** The gateway's id of the task; absent for uploads and images. */
  readonly taskId?: string | undefined;
}

/** A page of a user's files. */
export interface FilePage {
  readonly files: readonly UserFile[];
  /** The cursor of the next page, which may be empty; absent after the last one. */
  readonly next?: string | undefined;
}

/** Makes the functions by which an operator reads and deletes what is stored for a user. */
export function createUserFiles<Env>(partsOf: (given: { readonly env: Env }) => Promise<StoreParts>) {
  const userData: UserData<Env> = { name: "files", eraseUser, exportUser };
  const operations: readonly AdminOperation<Env>[] = [
    {
      name: "files/list",
      async run(env, asked) {
        const { files, next } = await list(env, textIn(asked, "user"), cursorIn(asked));
        return { files, cursor: next };
      },
    },
    {
      name: "files/remove",
      run: async (env, asked) => ({ removed: await remove(env, textIn(asked, "user"), textIn(asked, "id")) }),
    },
  ];
  return { list, remove, userData, operations };

  async function list(env: Env, userId: string, cursor = ""): Promise<FilePage> {
    const { space } = await partsOf({ env });
    const { files, next } = await pageOf(space, userId, cursor);
    return { files: files.map(fileOf), next };
  }

  async function remove(env: Env, userId: string, id: string): Promise<boolean> {
    const { bucket, space, links } = await partsOf({ env });
    if (!(await links.isOwn(id, userId))) return false;
    const { file } = await space.ask(userId, { do: "read", id });
    if (!file) return false;
    await discard({ user: { id: userId }, bucket, space }, id, true);
    return true;
  }

  async function eraseUser(env: Env, userId: string): Promise<void> {
    const { space } = await partsOf({ env });
    for (let isMore = true; isMore; ) isMore = (await space.ask(userId, { do: "erase" })).isMore === true;
  }

  async function exportUser(env: Env, userId: string): Promise<unknown> {
    const { space } = await partsOf({ env });
    const files: UserFile[] = [];
    const copies: unknown[] = [];
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page = await pageOf(space, userId, after);
      files.push(...page.files.map(fileOf));
      after = page.next;
    }
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page = await space.ask(userId, { do: "list", of: "copies", after });
      for (const { id, taskId, isOver, attempts, nextAt } of page.copies ?? [])
        copies.push({ id, taskId: taskId ?? undefined, isOver: isOver === 1, attempts, nextAt });
      after = page.next;
    }
    return { files, copies };
  }
}

/** Makes `GET /v1/uploads`: the files of the user who asks, a page at a time. */
export function createFileList<Env>(
  secretsOf: (env: Env) => Promise<readonly string[]>,
  partsOf: (given: FileRequest<Env>) => Promise<StoreParts>,
  answerOf: (asked: FileRequest<Env>, links: Links, row: FileRow) => Promise<object>,
) {
  return async (asked: FileRequest<Env>): Promise<Response> => {
    const user: User = await asked.signIn();
    const { links, space } = await partsOf(asked);
    const { files, next } = await pageOf(space, user.id, asked.cursor);
    const secrets = await secretsOf(asked.env);
    const { sign } = tenancyOf(secrets, user);
    const answers = files.map(async ({ taskId, ...row }) => {
      const task = taskId && { taskId: secrets.length > 0 ? await sign("task", taskId) : taskId };
      return { ...(await answerOf(asked, links, row)), ...task };
    });
    return Response.json({ files: await Promise.all(answers), next });
  };
}

async function pageOf(space: Space, userId: string, after: string) {
  const { files = [], next } = await space.ask(userId, { do: "list", of: "files", after });
  return { files, next };
}

function fileOf({ taskId, ...row }: FileRow & { readonly taskId?: string | null }): UserFile {
  const { id, bytes, received, type, expiresAt, isCopy } = row;
  return { id, bytes, received, type, expiresAt, isCopy: isCopy === 1, taskId: taskId ?? undefined };
}
