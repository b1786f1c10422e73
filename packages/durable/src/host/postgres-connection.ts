// a file of its own: declarations of `pg` need newer types of Node than users may have

/** Options of the package `pg`, such as `ssl`. */
export interface PostgresConnection {
  /** Number of connections of this process, beside one that listens. @default 10 */
  readonly max?: number;
  readonly ssl?: boolean | object;
  readonly [option: string]: unknown;
}
