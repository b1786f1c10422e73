import { logError, type Refusal, unavailable } from "../refusal.js";

/** Who is asking can't be told, for a reason that is not the caller's: nobody gets in, and the log says why. */
export function unknowable(problem: string): Refusal {
  logError(problem);
  return unavailable("authentication_unavailable", "who is asking can't be told now");
}
