import { reading } from "../../host/define.js";
import { type FileRow, findFile, selectFiles } from "./tables.js";

/** Number of rows per page. */
const PAGE = 100;

/** Reads the row of a file. */
export const readFile = reading("files/read", (rows, { id }: { readonly id: string }) => findFile(rows, id));

/** Reads the parts of an upload, ordered by number. */
export const readParts = reading("files/parts", ({ key, query }, { id }: { readonly id: string }) =>
  query<{ readonly partNumber: number; readonly etag: string }>(
    'SELECT number AS "partNumber", etag FROM file_parts WHERE key = ? AND id = ? ORDER BY number',
    ...[key, id],
  ),
);

/** Reads a page of rows, ordered by id. `next` is the cursor of the next page, which may be empty. */
export const readPage = reading("files/page", async (rows, { after }: { readonly after: string }) => {
  const files = await selectFiles(rows, "id > ? ORDER BY id LIMIT ?", after, PAGE);
  return { files, next: files[PAGE - 1]?.id };
});

/** Finds files by their ids, and by the sources of the copied files. */
export const findFiles = reading(
  "files/find",
  async (rows, { ids, sources }: { ids: readonly string[]; sources: readonly string[] }) => {
    const findBy = (column: "id" | "source") => (value: string) => selectFiles(rows, `${column} = ?`, value);
    return (await Promise.all([...ids.map(findBy("id")), ...sources.map(findBy("source"))])).flat();
  },
);

/** Returns true for a file that its user can find. */
export function isVisible({ state, dueAt }: FileRow): boolean {
  return (state === "open" || state === "whole") && dueAt > Date.now();
}
