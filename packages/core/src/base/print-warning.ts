import type { AnyGatewayError, Issue } from "../types/errors.js";
import { findFieldAdvice } from "./foreign-names.js";

const printed = new Set<string>();
/** Largest number of printed warnings. Unknown fields can have any number of names. */
const MAX_PRINTED = 1000;

/** Remembers a warning. Returns false if it was printed before, or if too many were. */
function addPrinted(key: string): boolean {
  if (printed.has(key) || printed.size === MAX_PRINTED) return false;
  printed.add(key);
  return true;
}

/** Prints a warning, once for each rule and path. Loaded in development, by a client without `onEvent`. */
export function printWarning({ path, message, rule }: Issue): void {
  if (!addPrinted(`${rule} ${path.replace(/\d+/g, "0")}`)) return;
  const hasSuggestion = message.endsWith("?");
  const advice = hasSuggestion ? undefined : findFieldAdvice(path, rule);
  // biome-ignore lint/suspicious/noConsole: a developer without `onEvent` would never see it
  console.warn(`@sluice/core: ${path ? `${path}: ` : ""}${message}${advice ? `; ${advice}` : ""} (${rule})`);
}

/** Proxy error codes that an operator or a developer has to fix. */
const SETUP_CODES = [
  "origin_not_allowed",
  "model_not_allowed",
  "field_not_allowed",
  "misconfigured",
  "upstream_auth",
];

/**
 * Prints an error that a mistake in the code or the setup caused, once for each message. The page shows another text to
 * its users, so a developer would not see this one.
 */
export function printMistake(error: AnyGatewayError): void {
  const { name, message } = error;
  if (!isMistake(error) || !addPrinted(`${name} ${message}`)) return;
  // biome-ignore lint/suspicious/noConsole: a developer would never see it
  console.warn(`@sluice/core: ${name}: ${message}`);
}

function isMistake(error: AnyGatewayError): boolean {
  switch (error.name) {
    case "ConfigurationError":
      return true;
    case "ValidationError":
      // the user chooses the files
      return error.issues.some(({ rule }) => !rule.startsWith("media."));
    case "ConnectionError":
      return error.reason !== undefined;
    case "APIError":
      return (
        error.reason !== undefined || (error.source === "proxy" && SETUP_CODES.includes(error.code ?? ""))
      );
    default:
      return false;
  }
}
