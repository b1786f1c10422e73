import postgres from "postgres";
import { inject, onTestFinished } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Address of the Postgres of this run. */
    postgres: string;
  }
}

/** The Postgres of this run. */
export const url = process.env["SLUICE_HOST"] === "postgres" ? inject("postgres") : "";

let schemas = 0;
/** Name of a schema that nothing else has. */
export function newSchema(): string {
  schemas += 1;
  return `test ${process.pid} ${Date.now()} ${schemas}`;
}

/** Connections of the test's own. */
export function openSQL(address = url) {
  const sql = postgres(address, { max: 2, onnotice: () => {} });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}
