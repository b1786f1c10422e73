export type { ClosableHost } from "./host/closable.js";
export { type PostgresConnection, type PostgresHostOptions, postgresHost } from "./host/postgres.js";
