import { createRefusal } from "./refusal.js";

/** Identifies a commit. Between two pages of a pull, it also identifies the last record of the page. */
export type Cursor = {
  readonly version: number;
  readonly tag: string;
  /** Version and id of the last record of a page. */
  readonly after?: readonly [version: number, record: string];
};

/** The cursor of a user without commits. */
export const START: Cursor = { version: 0, tag: "0" };

export function formatCursor({ version, tag, after }: Cursor): string {
  return `${version}.${tag}${after ? ` ${after[0]} ${after[1]}` : ""}`;
}

/**
 * Parses a cursor.
 *
 * @param canContinue true for a pull, which also accepts a cursor between two pages
 * @throws {Refusal} for any other text
 */
export function parseCursor(value: unknown, canContinue = false): Cursor {
  const text = typeof value === "string" && value.length < 400 ? value : "";
  const [, version, tag = "", afterVersion, record = ""] =
    /^(\d{1,15})\.([0-9a-z]{1,16})(?: (\d{1,15}) ([^\0]*))?$/.exec(text) ?? [];
  if (version === undefined || (afterVersion !== undefined && !canContinue))
    throw createRefusal("invalid_cursor");
  return {
    version: Number(version),
    tag,
    ...(afterVersion !== undefined && { after: [Number(afterVersion), record] }),
  };
}
