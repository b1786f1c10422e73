import type { Client } from "@sluice/core";

/** The field of a client that names its user. */
export type UserClient = Pick<Client, "user">;

/**
 * Returns the name of a lock, a channel or a collection for the client's user. Every name that tabs or page loads share
 * goes through this function, so that two users of one browser never share data. Without a user, returns the name
 * unchanged.
 *
 * @example
 * ```ts
 * const collection = addUserPrefix(client, "notes");
 * ```
 */
export function addUserPrefix({ user }: UserClient, name: string): string {
  return user === undefined ? name : `${formatUserPrefix(user)}/${name}`;
}

/** Returns the prefix of a user's names. JSON, because the JSON of one text is never a prefix of another's. */
export function formatUserPrefix(user: string): string {
  return JSON.stringify(user);
}
