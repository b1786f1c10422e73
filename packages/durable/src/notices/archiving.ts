import type { MediaStore } from "../files/media-store.js";
import type { FollowUp } from "./after-end.js";

/**
 * Makes the follow-up that copies the film of a task into the bucket of a `mediaStore` with `archive`, also where no page
 * is open to see the end. A task that its user has removed is not copied.
 *
 * @example
 * ```ts
 * export const VideoWatch = videoWatch<Env>({ ...gateway, onEnd: afterEnd([archiving(files)]) });
 * ```
 */
export function archiving<Env = unknown>(files: Pick<MediaStore<Env>, "archiveTask">): FollowUp<Env> {
  return {
    name: "archive",
    kind: "copy",
    async run({ gatewayId, userId, task, state, isRemoved }, env) {
      if (state !== "succeeded" || isRemoved) return;
      await files.archiveTask(env, { id: userId }, { id: gatewayId, answer: task });
    },
  };
}
