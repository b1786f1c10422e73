import type { AdminOperation } from "@sluice/worker-proxy";
import { readCursor, readText } from "../admin/body.js";
import type { Jobs } from "../jobs/jobs.js";
import { isOpen } from "../jobs/states.js";

/** Creates the admin operations that list and stop the streams of a user. A list omits the content of the streams. */
export function createStreamOperations<Env>(jobs: Jobs): readonly AdminOperation<Env>[] {
  return [
    {
      name: "streams/list",
      async run(env, body) {
        const listed = await jobs.list(env, readText(body, "user"), readCursor(body) ?? "");
        const streams = listed.map(({ id, state, code }) => ({
          id,
          state: isOpen(state) ? "open" : state,
          ...(code !== undefined && { code }),
        }));
        return { streams, cursor: streams.at(-1)?.id };
      },
    },
    {
      name: "streams/stop",
      async run(env, body) {
        const stopped = await jobs.stop(env, readText(body, "user"), readText(body, "id"), "stopped");
        return { stopped };
      },
    },
  ];
}
