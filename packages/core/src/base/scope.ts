/** The field of a client that names use. */
export interface Scoped {
  /** The user of the client; undefined where an app has one user for each browser. */
  readonly scope: string | undefined;
}

/**
 * Returns the name of a lock, a channel or a collection for the client's scope. Every name that tabs or page loads share
 * is made here, so that two users of one browser share none. Without a scope the name stays as it is.
 */
export function scoped({ scope }: Scoped, name: string): string {
  return scope === undefined ? name : `${scopeName(scope)}/${name}`;
}

/** Text of a scope in names. JSON, because the JSON of one text is never the beginning of another's. */
export function scopeName(scope: string): string {
  return JSON.stringify(scope);
}
