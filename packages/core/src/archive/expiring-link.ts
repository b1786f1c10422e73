/** A file with a temporary link, of which a proxy may keep a copy. */
export interface ExpiringLink {
  readonly url: string;
  readonly expiresAt?: number;
  readonly keptUntil?: number;
}

/** Returns the time from which the link is renewed; infinity for a file without a copy. */
export function getRenewalTime({ expiresAt, keptUntil = 0 }: ExpiringLink): number {
  return (keptUntil > Date.now() && expiresAt) || Number.POSITIVE_INFINITY;
}

/** Returns a file whose link could not be renewed: the next attempt is due in a minute. */
export const delayRenewal = <File extends ExpiringLink>(file: File): File => ({
  ...file,
  expiresAt: Date.now() + 60_000,
});
