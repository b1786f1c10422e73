export { type PostgresConnection, type PostgresHostOptions, postgresHost } from "./host/postgres.js";
export type { ClosableHost } from "./host/process-host.js";
