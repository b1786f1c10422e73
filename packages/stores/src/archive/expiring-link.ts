/** A file with a temporary link. A proxy may store a copy of it. */
export interface ExpiringLink {
  readonly url: string;
  readonly expiresAt?: number;
  readonly storedUntil?: number;
}

/** Returns the time from which a store renews the link; infinity for a file without a copy. */
export function getLinkRenewalTime({ expiresAt, storedUntil = 0 }: ExpiringLink): number {
  return (storedUntil > Date.now() && expiresAt) || Number.POSITIVE_INFINITY;
}

/** Schedules the next renewal in a minute, after a failed one. */
export const delayRenewal = <File extends ExpiringLink>(file: File): File => ({
  ...file,
  expiresAt: Date.now() + 60_000,
});
