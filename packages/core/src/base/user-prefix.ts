/** The field of a client that separates the stored data of its users. */
export interface Scoped {
  /** The user of the client; undefined where an app has one user for each browser. */
  readonly user: string | undefined;
}

/**
 * Returns the name of a lock, a channel or a collection for the client's user. Every name that tabs or page loads share
 * is made here, so that two users of one browser share none. Without a user the name stays as it is.
 */
export function addUserPrefix({ user }: Scoped, name: string): string {
  return user === undefined ? name : `${formatUserPrefix(user)}/${name}`;
}

/** Text of a user in names. JSON, because the JSON of one text is never the beginning of another's. */
export function formatUserPrefix(user: string): string {
  return JSON.stringify(user);
}
