// a separate file, because the declarations of `pg` need newer Node types than users may have

/** Options of the package `pg`, such as `ssl`. */
export interface PostgresConnection {
  /** Maximum number of connections in the pool of this process. One more connection listens. @default 10 */
  readonly max?: number;
  readonly ssl?: boolean | object;
  readonly [option: string]: unknown;
}

/** Options of a host with their defaults. `sessionURL` is undefined unless `url` leads to a pool. */
export interface PostgresSettings {
  readonly url: string;
  readonly sessionURL: string | undefined;
  readonly schema: string;
  readonly connection: PostgresConnection;
}
