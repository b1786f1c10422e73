/** Rights in a conversation. */
type Access = "owner" | "write" | "read";

/** The sender of a request, as the members of a shared conversation know it. */
export interface Viewer {
  /** Id among the members: `owner`, or random letters that stand for the user in this conversation alone. */
  readonly me: string;
  readonly access: Access;
}

/** The owner's id among the members. */
export const OWNER_ID = "owner";

/** The author of what a turn still writes whose user is no member any more. */
export const FORMER_ID = "left";

/** Key of the record with the names of all members and of those that have left. Only the server writes it. */
export const MEMBERS = "/members";

/** Returns the name of a device in leases and streams: that of a member can't be another member's. */
export function deviceOf(device: string, viewer: Viewer | undefined): string {
  return !viewer || viewer.access === "owner" ? device : `${viewer.me}.${device}`;
}

/** Adds the reader of a shared conversation to an answer. */
export function withViewer(json: string, viewer: Viewer | undefined): string {
  return viewer ? `${json.slice(0, -1)},"viewer":${JSON.stringify(viewer)}}` : json;
}
