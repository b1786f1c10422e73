import type { Issue } from "../vocabulary/errors.js";
import type { WithOptions } from "./option-names.js";
import { inProduction } from "./production.js";

/**
 * Warns of options that a function does not know, a moment later and once for each path: a misspelt option has no
 * effect, and only TypeScript would tell of it. Does nothing in production.
 */
export function noteOptions(of: WithOptions, options: object, warn: (issue: Issue) => void): void {
  if (!inProduction())
    import("./option-names.js").then(({ warnOfOptions }) => warnOfOptions(of, options, warn)).catch(() => {});
}
