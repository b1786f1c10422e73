import { type Client, createClient, streamResumption } from "@sluice/core";
import { type InnerWay, innerWay } from "@sluice/worker-proxy/internal";
import { type Hide, hiding } from "./hiding.js";
import type { RunnerSetup } from "./options.js";
import type { RunPlace } from "./place.js";
import type { OpenTurn } from "./rows.js";

/** The way of a turn to the gateway. */
export interface RunClient {
  readonly client: Client;
  readonly way: InnerWay;
  readonly hide: Hide;
}

/**
 * Opens the client of a turn: its requests go through the proxy in the name of the user who pays.
 *
 * @param before called before each request: an answer that it returns is that of the request, which is not sent then, and
 *   an error that it throws is its error
 */
export function openRunClient<Env>(
  { state, env }: Pick<RunPlace<Env>, "state" | "env">,
  setup: RunnerSetup<Env>,
  { user }: OpenTurn,
  before: (request: Request) => Response | undefined,
): RunClient {
  const context = { waitUntil: (promise: Promise<unknown>) => state.waitUntil(promise) };
  const way = innerWay(setup.proxy(), user, env, context);
  const client = createClient({
    baseURL: way.baseURL,
    resume: streamResumption(),
    // of this run alone: the chat makes the keys of its requests from it, and has not seen the answers of other runs
    user: `${user.id}/${crypto.randomUUID()}`,
    // what a tool or a warning says stays out of the log
    onEvent: () => {},
    async fetch(request) {
      return before(request) ?? (await way.fetch(request));
    },
  });
  return { client, way, hide: hiding(setup.secrets(env)) };
}
