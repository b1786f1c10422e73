declare module "node:worker_threads" {
  /** Web Locks of this process, which happy-dom has not. */
  export const locks: LockManager;
}
