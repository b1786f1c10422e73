import { hashOf, type ObjectNamespace, objectNamed } from "../durable/platform.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { mediaRefusal, stored } from "./refusals.js";

/** The bounds of {@link openSpace}. */
interface Bounds {
  readonly userBytes: number;
  readonly userFiles: number;
  readonly allBytes: number;
}

/** A file whose space is to be reserved. */
export type NewFile = (IndexRequest & { readonly do: "open" })["file"];

/** The space of all users and of each, as the indexes count it. */
export type Space = ReturnType<typeof openSpace>;

/** Opens the indexes behind a binding. */
export function openSpace(namespace: ObjectNamespace, { userBytes, userFiles, allBytes }: Bounds) {
  return { reserve, free, ask };

  /**
   * Reserves the space of a file.
   *
   * @returns the row; that of an earlier file where one with the same `source` exists
   * @throws {Refusal} 413 where the user has no space, 503 where nobody has
   */
  async function reserve(userId: string, file: NewFile): Promise<FileRow> {
    const own = await ask(userId, { do: "open", file, mostBytes: userBytes, mostFiles: userFiles });
    if (own.full === "files") throw mediaRefusal("too_many_files", { what: userFiles });
    if (own.full) throw mediaRefusal("storage_full", { what: userBytes });
    const row = own.file as FileRow;
    if (row.id !== file.id) return row;
    const { source: _, ...counted } = file;
    const most = { mostBytes: allBytes, mostFiles: Number.MAX_SAFE_INTEGER };
    const all = await ask(undefined, { do: "open", file: counted, ...most, isCount: true });
    if (!all.full) return row;
    await ask(userId, { do: "drop", id: file.id });
    const headers = { "retry-after": "3600" };
    throw mediaRefusal("storage_full_for_all", { headers, problem: "mediaStore: allBytes is used up" });
  }

  /** Gives the space of a file back. Returns what was known of it. `isForGood`: its owner deletes it. */
  async function free(userId: string, id: string, isForGood = false): Promise<FileRow | undefined> {
    const { file } = await ask(userId, { do: "drop", id, isForGood });
    await ask(undefined, { do: "drop", id });
    return file;
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
