import type { AdminOperation } from "@sluice/worker-proxy";
import { cursorIn, textIn } from "../objects/operator-body.js";
import type { UserIndex } from "../objects/user-index.js";
import { END_CODE, OWN, STATE } from "./setup.js";

/** The kept answers of one user. */
interface UserStreams {
  readonly index: UserIndex;
  ask(id: string, path: string, method?: string): Promise<Response>;
}

/** An operator's operations on the kept answers of a user. A list has no content. */
export function streamOperations<Env>(
  openUser: (env: Env, userId: string) => Promise<UserStreams>,
): readonly AdminOperation<Env>[] {
  return [
    {
      name: "streams/list",
      async run(env, asked) {
        const user = await openUser(env, textIn(asked, "user"));
        const ids = await user.index.list(cursorIn(asked));
        const all = await Promise.all(ids.map((id) => stateOf(user, id)));
        return { streams: all.filter((one) => one !== undefined), cursor: ids.at(-1) };
      },
    },
    {
      name: "streams/stop",
      async run(env, asked) {
        const user = await openUser(env, textIn(asked, "user"));
        const id = textIn(asked, "id");
        const stopped = (await stateOf(user, id))?.state === "open";
        if (stopped) await discarded(user.ask(id, "/", "DELETE"));
        return { stopped };
      },
    },
  ];
}

/** Returns the state of an answer; undefined where nothing is kept. */
async function stateOf({ ask }: UserStreams, id: string) {
  const { headers } = await discarded(ask(id, OWN.end));
  const state = headers.get(STATE);
  if (state === null) return undefined;
  const code = headers.get(END_CODE);
  return { id, state, ...(code && { code }) };
}

async function discarded(answer: Promise<Response>): Promise<Response> {
  const response = await answer;
  await response.body?.cancel();
  return response;
}
