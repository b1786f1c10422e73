import { hashOf } from "@sluice/worker-proxy/internal";
import { type ObjectNamespace, objectNamed } from "../objects/object.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { mediaRefusal, stored } from "./refusals.js";

/** The bounds of {@link openSpace}. */
interface Bounds {
  readonly userBytes: number;
  readonly userFiles: number;
  readonly allBytes: number | false;
  readonly uploadBytes: number;
}

/** A file whose space is to be reserved. */
export type NewFile = (IndexRequest & { readonly do: "open" })["file"];

/** The space of all users and of each, as the indexes count it. */
export type Space = ReturnType<typeof openSpace>;

/** Time after its end for which a file is counted for all users, where the index of its user can't say that it is gone. */
const GRACE_MS = 86_400_000;

const NO_BOUND = {
  mostBytes: Number.MAX_SAFE_INTEGER,
  mostUploadBytes: Number.MAX_SAFE_INTEGER,
  mostFiles: Number.MAX_SAFE_INTEGER,
};

/** Opens the indexes behind a binding. */
export function openSpace(
  namespace: ObjectNamespace,
  { userBytes, userFiles, allBytes, uploadBytes }: Bounds,
) {
  return { reserve, drop, gone, forget, removeLater, ask };

  /**
   * Reserves the space of a file, until it is whole or its `expiresAt` is over.
   *
   * @param keepMs the time for which the file is kept once it is whole
   * @returns the row; that of an earlier file where one with the same `source` exists
   * @throws {Refusal} 413 where the user has no space, 503 where nobody has
   */
  async function reserve(userId: string, file: NewFile, keepMs: number): Promise<FileRow> {
    const isCopy = file.source !== undefined;
    const most = { ...NO_BOUND, mostBytes: userBytes, mostFiles: userFiles };
    const own = await ask(userId, { do: "open", file: { ...file, userId }, isCopy, ...most });
    if (own.full === "erased") throw mediaRefusal("file_not_found");
    if (own.full === "files") throw mediaRefusal("too_many_files", { what: userFiles });
    if (own.full) throw mediaRefusal("storage_full", { what: userBytes });
    const row = own.file as FileRow;
    if (row.id !== file.id || allBytes === false) return row;
    const { id, bytes, type } = file;
    const counted = { id, bytes, type, expiresAt: Date.now() + keepMs + GRACE_MS };
    const mostOfAll = { ...NO_BOUND, mostBytes: allBytes, mostUploadBytes: uploadBytes };
    const all = await ask(undefined, { do: "open", file: counted, isCopy, ...mostOfAll, isCount: true });
    if (!all.full) return row;
    await ask(userId, { do: "gone", id: file.id });
    const headers = { "retry-after": "3600" };
    const problem = `mediaStore: allBytes is used up${isCopy ? "" : ", or the part that uploads may take"}`;
    throw mediaRefusal("storage_full_for_all", { headers, problem });
  }

  /** Marks a file that is about to be deleted. Returns what is known of it. `isForGood`: its owner deletes it. */
  async function drop(userId: string, id: string, isForGood = false): Promise<FileRow | undefined> {
    return (await ask(userId, { do: "drop", id, isForGood })).file;
  }

  /** Gives the space of a file back that the bucket has deleted. */
  async function gone(userId: string, id: string): Promise<void> {
    // first: the user's index does it again where this request is lost
    await forget([id]);
    await ask(userId, { do: "gone", id });
  }

  /** Ends the count of files in the space of all users. */
  async function forget(ids: readonly string[]): Promise<void> {
    if (allBytes !== false && ids.length > 0) await ask(undefined, { do: "forget", ids });
  }

  /** Has the index of a user delete a file that the bucket still has, until that succeeds. */
  async function removeLater(userId: string, file: Pick<FileRow, "id" | "uploadId">): Promise<void> {
    await ask(userId, { do: "bury", ...file });
  }

  /** Asks the index of a user; that of all where no user is given. */
  async function ask(userId: string | undefined, request: IndexRequest): Promise<IndexAnswer> {
    const name = userId === undefined ? "all" : await hashOf(`media\n${userId}`);
    return stored(async () => {
      const body = JSON.stringify(request);
      const sent = new Request("https://media.invalid/", { method: "POST", body });
      const response = await objectNamed(namespace, name).fetch(sent);
      if (!response.ok) throw new Error(`the media index answered with ${response.status}`);
      return (await response.json()) as IndexAnswer;
    });
  }
}
