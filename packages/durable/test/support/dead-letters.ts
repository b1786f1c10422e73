import type { ProxyPlugin } from "@sluice/worker-proxy";
import type { DeadLetter } from "../../src/videos/dead-letters.js";

/** The operations of an operator on the dead letters of a plugin. */
export function createDeadLetterOperations<Env>(plugins: readonly ProxyPlugin<Env>[], env: Env) {
  const operations = plugins.flatMap((plugin) => plugin.operations ?? []);
  const run = async (name: string, body: object) =>
    operations.find((one) => one.name === `dead-letters/${name}`)?.run(env, body as never);
  const list = async (cursor?: string) =>
    (await run("list", { cursor })) as { deadLetters: readonly DeadLetter[]; cursor?: string };
  return {
    list,
    listDeadLetters: async () => (await list()).deadLetters,
    resend: async (id: string) => ((await run("resend", { id })) as { resent: boolean }).resent,
  };
}
