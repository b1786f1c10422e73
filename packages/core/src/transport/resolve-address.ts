import { ConfigurationError } from "../types/errors.js";
import type { Connection } from "./send.js";

/** Resolves the address of `path`. `createClient` does not resolve a relative base, because servers call it too. */
export function resolveAddress({ baseURL }: Pick<Connection, "baseURL">, path: string): string {
  const page = globalThis.location?.href;
  if (URL.canParse(baseURL + path, page)) return new URL(baseURL + path, page).href;
  throw new ConfigurationError(
    `baseURL: ${baseURL || "/"} is relative: a server needs the whole address: https://app.example.com/api`,
  );
}
