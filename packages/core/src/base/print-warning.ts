import type { Issue } from "../vocabulary/errors.js";
import { insteadOfField } from "./foreign-names.js";

const printed = new Set<string>();
/** Largest number of warnings that are printed: names of unknown fields may be of any number. */
const MOST_PRINTED = 1000;

/** Prints a warning, once for each rule and path. Loaded in development, by a client without `onEvent`. */
export function printWarning({ path, message, rule }: Issue): void {
  const place = `${rule} ${path.replace(/\d+/g, "0")}`;
  if (printed.has(place) || printed.size === MOST_PRINTED) return;
  printed.add(place);
  const instead = message.endsWith("?") ? undefined : insteadOfField(path, rule);
  // biome-ignore lint/suspicious/noConsole: a developer without `onEvent` would never learn of it
  console.warn(
    `@sluice/core: ${path ? `${path}: ` : ""}${message}${instead ? `; ${instead}` : ""} (${rule})`,
  );
}
