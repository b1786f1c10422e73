import { duration, useNow } from "../room/use-now.js";

interface ElapsedProps {
  /** Unix milliseconds. */
  readonly since: number;
  /** How long it usually takes, where somebody knows. */
  readonly usual: string | undefined;
}

/** How long one has waited, beside how long one usually does. */
export function Elapsed({ since, usual }: ElapsedProps) {
  return `${duration(useNow() - since)} since it was asked for${usual ? ` · ${usual}` : ""}`;
}
