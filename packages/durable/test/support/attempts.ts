import { definePlugin, operation, type PluginServer } from "@sluice/worker-proxy/plugin";

/** The attempts of all timers of a job. */
type Attempts = {
  readonly job: string;
  readonly attempts: number;
  /** Attempts in a row during which the process ended. */
  readonly deaths: number;
};

const setAttempts = operation("test.setAttempts", async ({ query }, { job, attempts, deaths }: Attempts) => {
  await query("UPDATE timers SET attempts = ?, deaths = ? WHERE job = ?", attempts, deaths, job);
  return null;
});

/** Creates a plugin with which a test sets the number of past attempts of a job. */
export function createAttempts() {
  let server: PluginServer<never> | undefined;
  const set = async (attempts: Attempts) =>
    void (await server?.host({} as never).run("test", setAttempts, attempts));
  return {
    plugin: definePlugin({
      storage: { tables: [], operations: [setAttempts] },
      connect(given: PluginServer<never>) {
        server = given;
      },
    }),
    setAttempts: set,
    /** Lets the last attempts of a job have ended the process. */
    cutAttempts: (job: string, deaths: number) => set({ job, attempts: deaths, deaths }),
  };
}
