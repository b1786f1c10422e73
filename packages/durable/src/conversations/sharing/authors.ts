import { fieldsOf } from "../texts.js";
import type { Seal } from "../writing.js";
import { MEMBERS, OWNER_ID, type Viewer } from "./viewer.js";

/**
 * Makes the check of records that a viewer writes: the server names the author of a new message, and nothing changes the
 * author of one that is there, or the text of another member's question. What a page says of an author is dropped.
 */
export function sealedBy(viewer: Viewer | undefined): Seal {
  return (key, value, known) => {
    if (key === MEMBERS) return { code: "key_reserved" };
    const { message } = fieldsOf(value);
    if (typeof message !== "object" || message === null) return { value };
    const { author: _, ...rest } = fieldsOf(message);
    // a conversation that was never shared has no authors
    const before = viewer && known !== null ? fieldsOf(fieldsOf(JSON.parse(known))["message"]) : undefined;
    if (before && viewer && isOfAnother(before, viewer) && isOtherText(before, rest))
      return { code: "author_differs" };
    const author = before ? before["author"] : viewer && { id: viewer.me };
    if (author === undefined && !("author" in message)) return { value };
    const sealed = { ...rest, ...(author !== undefined && { author }) };
    return { value: { ...fieldsOf(value), message: sealed } };
  };
}

/** Returns the id of a message's author. One that is older than the first link is the owner's. */
export function authorIn({ author }: Readonly<Record<string, unknown>>): string {
  const { id } = fieldsOf(author);
  return typeof id === "string" ? id : OWNER_ID;
}

function isOfAnother(message: Readonly<Record<string, unknown>>, { me }: Viewer): boolean {
  return message["role"] === "user" && authorIn(message) !== me;
}

function isOtherText(
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): boolean {
  return ["role", "content"].some((field) => before[field] !== now[field]);
}
