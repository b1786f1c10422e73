import { startPostgres } from "./postgres-server.js";

/** Starts one Postgres for a whole run; each file has a schema of its own there. */
export default async function setup(project: { provide(key: "postgres", url: string): void }) {
  const server = await startPostgres();
  project.provide("postgres", server.url);
  return () => server.close();
}
