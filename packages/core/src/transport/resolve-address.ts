import { addAdvice } from "../base/advice.js";
import { ConfigurationError } from "../types/errors.js";
import type { Connection } from "./send.js";

/** Resolves the address of `path`. `createClient` does not resolve a relative base, because servers call it too. */
export function resolveAddress({ baseURL }: Pick<Connection, "baseURL">, path: string): string {
  const page = globalThis.location?.href;
  if (URL.canParse(baseURL + path, page)) return new URL(baseURL + path, page).href;
  const error = new ConfigurationError(`baseURL: ${baseURL || "/"} is relative`);
  addAdvice(error, ": a server needs the whole address: https://app.example.com/api");
  throw error;
}
