import type { Host } from "@sluice/worker-proxy";
import { ensure, type SQL } from "@sluice/worker-proxy/plugin";
import { type LocalDatabase, LocalHost } from "./local-host.js";
import { indexParts } from "./named-steps.js";
import { createStorageError } from "./storage-error.js";
import { TimerLoop, Timers } from "./timers.js";

/** A host with open connections or an open file. */
export type ClosableHost<Env = unknown> = Host<Env> & {
  /**
   * Waits for running jobs and closes the database. Jobs of timers that have not ended run again after the next start.
   * A second call waits for the first.
   *
   * @param withinMs maximum wait for jobs, in milliseconds; 10,000 by default
   */
  close(withinMs?: number): Promise<void>;
};

/** The database of a process. */
export interface ProcessDatabase extends LocalDatabase {
  close(): Promise<void>;
}

/** The input for opening a database. */
export interface DatabaseSetup {
  /** Statements that create the tables of all plugins. */
  readonly tables: readonly SQL[];
  report(subject: string, error: unknown): void;
}

/** Maximum wait for jobs when a host closes, in milliseconds. */
const DRAIN_MS = 10_000;

/** Creates a host whose jobs run in this process. It opens its database for one proxy, and can close it. */
export function createProcessHost<Env>(
  name: string,
  env: unknown,
  openDatabase: (setup: DatabaseSetup) => ProcessDatabase,
): ClosableHost<Env> {
  let close: ((withinMs: number) => Promise<void>) | undefined;
  let closing: Promise<void> | undefined;
  return {
    open({ parts, report: reportTo }) {
      ensure(!close, "host: belongs to one proxy; make another one");
      const report: DatabaseSetup["report"] = (subject, error) => reportTo(subject, error, env as Env);
      const { jobs } = indexParts(parts);
      const database = openDatabase({ tables: parts.flatMap(({ tables }) => tables), report });
      const onSchedule = (at: number) => loop.wake(at);
      const checkOpen = () => {
        if (closing) throw createStorageError(`${name}: it is closed`);
      };
      const host = new LocalHost({ database, env, report, onSchedule, checkOpen });
      const { createContext } = host;
      const timers = new Timers(database.rows, { database, createContext, report, onSchedule }, jobs);
      const loop = new TimerLoop(timers, (error) => report("timers", error));
      close = async (withinMs) => {
        const ended = await Promise.allSettled([loop.close(withinMs), host.close(withinMs)]);
        for (const end of ended) if (end.status === "rejected") report("close", end.reason);
        await database.close();
      };
      return () => host;
    },
    async close(withinMs = DRAIN_MS) {
      closing ??= close?.(withinMs);
      await closing;
    },
  };
}
