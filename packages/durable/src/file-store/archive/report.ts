import type { JobEvent } from "@sluice/worker-proxy";
import { hashText, logError } from "@sluice/worker-proxy/plugin";
import type { Store } from "../files/store.js";

/** The copy that an event is about. */
interface Subject {
  readonly id: string;
  readonly userId: string;
  readonly taskId: string | null;
}

/**
 * Reports the end of a copy or of an attempt. The log has no address, which may be signed, and the user's id as a hash.
 *
 * @param why the line in the log. @default none
 */
export async function reportCopy<Env>(
  store: Store<Env>,
  env: Env,
  { id, userId, taskId }: Subject,
  event: Pick<JobEvent, "outcome" | "code" | "attempts" | "nextAt" | "bytes">,
  why?: string,
): Promise<void> {
  if (why !== undefined) {
    const names = [taskId && `task ${taskId}`, `copy ${id}`, `user ${await hashText(`media\n${userId}`)}`];
    logError(`archive: ${why}: ${names.filter(Boolean).join(", ")}`);
  }
  store.server.report({ kind: "copy", id, user: userId, taskId: taskId ?? undefined, ...event }, env);
}
