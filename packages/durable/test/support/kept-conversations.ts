import type { ConversationsOptions, ObjectNamespace } from "@sluice/durable";
import type { JobEvent } from "@sluice/worker-proxy";

/** Events of conversations. */
export const told: JobEvent[] = [];

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
}

/** Conversations of tests: small bounds, so that tests reach them. */
export const keptConversations: ConversationsOptions<unknown> = {
  namespace: (env) => (env as Env).CONVERSATIONS,
  bytesPerUser: 12 * 1024 * 1024,
  recordsPerConversation: 1_500,
  keepMs: 90 * 86_400_000,
  onEvent: (event) => void told.push(event),
};
