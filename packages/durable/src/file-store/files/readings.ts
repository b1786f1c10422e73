import { reading } from "../../host/define.js";
import { COPY_COLUMNS, type CopyRow, FILE_COLUMNS, type FileRow } from "./tables.js";

/** Number of rows of a page. */
const PAGE = 100;

const IS_FOUND = "key = ? AND state <> 'removed' AND due_at > ?";

/** Reads a file that its user may see. */
export const readFile = reading(
  "files/read",
  async ({ key, query }, { id, now }: { readonly id: string; readonly now: number }) => {
    const [file] = await query<FileRow>(
      `SELECT ${FILE_COLUMNS} FROM files WHERE ${IS_FOUND} AND id = ?`,
      key,
      now,
      id,
    );
    return file;
  },
);

/** Reads the parts of an upload, in their order. */
export const readParts = reading("files/parts", ({ key, query }, { id }: { readonly id: string }) =>
  query<{ readonly number: number; readonly etag: string }>(
    "SELECT number, etag FROM file_parts WHERE key = ? AND id = ? ORDER BY number",
    key,
    id,
  ),
);

/** A page of rows. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The cursor of the next page, which may be empty; undefined after the last one. */
  readonly next: string | undefined;
}

/** Reads a page of files by the primary key. It may be shorter than another one, and more may follow. */
export const readPage = reading(
  "files/page",
  async (
    { key, query },
    { after, now }: { readonly after: string; readonly now: number },
  ): Promise<Page<FileRow>> => {
    const found = await query<FileRow>(
      `SELECT ${FILE_COLUMNS} FROM files WHERE key = ? AND id > ? ORDER BY id LIMIT ?`,
      key,
      after,
      PAGE,
    );
    const rows = found.filter(({ state, dueAt }) => state !== "removed" && dueAt > now);
    return { rows, next: found[PAGE - 1]?.id };
  },
);

/** Reads a page of results that are to be copied, or were. */
export const readCopies = reading(
  "files/copies",
  async ({ key, query }, { after }: { readonly after: string }): Promise<Page<CopyRow>> => {
    const rows = await query<CopyRow>(
      `SELECT ${COPY_COLUMNS} FROM file_copies WHERE key = ? AND source > ? ORDER BY source LIMIT ?`,
      key,
      after,
      PAGE,
    );
    return { rows, next: rows[PAGE - 1]?.source };
  },
);

/** Finds whole files by their ids, and by the files of the gateway that they are copies of. */
export const findFiles = reading(
  "files/find",
  async (
    { key, query },
    { ids, sources, now }: { ids: readonly string[]; sources: readonly string[]; now: number },
  ): Promise<readonly FileRow[]> => {
    const findBy = (column: "id" | "source") => (value: string) =>
      query<FileRow>(
        `SELECT ${FILE_COLUMNS} FROM files WHERE key = ? AND ${column} = ? AND state = 'whole' AND due_at > ?`,
        key,
        value,
        now,
      );
    return (await Promise.all([...ids.map(findBy("id")), ...sources.map(findBy("source"))])).flat();
  },
);
