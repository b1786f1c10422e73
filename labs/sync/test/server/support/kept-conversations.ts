import type { ObjectNamespace } from "@sluice/durable";
import type { ConversationsOptions } from "@sluice/sync/server";
import type { JobEvent } from "@sluice/worker-proxy";

/** Events of conversations. */
export const told: JobEvent[] = [];

/** Way of a request to an object; `go` lets it through. */
type Fault = (name: string, go: () => Promise<Response>) => Promise<Response>;

/** The fault that a test makes; none by itself. */
export const faults: { now: Fault | undefined } = { now: undefined };
export const isIndex = (name: string) => !name.includes(":");

/** Objects whose names fit can't be reached. */
export function outageOf(fits: (name: string) => boolean): Fault {
  return async (name, go) => {
    if (fits(name)) throw new Error("this object can't be reached");
    return await go();
  };
}

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
}

/** The binding, whose objects a test can make fail. */
function failing(namespace: ObjectNamespace): ObjectNamespace {
  return {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      async fetch(request: Request) {
        const go = () => namespace.get(namespace.idFromName(name) as never).fetch(request);
        return await (faults.now?.(name, go) ?? go());
      },
    }),
  } as unknown as ObjectNamespace;
}

/** Conversations of tests: small bounds, so that tests reach them. */
export const keptConversations: ConversationsOptions<unknown> = {
  namespace: (env) => failing((env as Env).CONVERSATIONS),
  bytesPerUser: 12 * 1024 * 1024,
  recordsPerConversation: 1_500,
  keepMs: 90 * 86_400_000,
  onEvent: (event) => void told.push(event),
};
