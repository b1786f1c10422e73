import type { Issue } from "../vocabulary/errors.js";
import { unknownOptions } from "./unknown-options.js";

/* Loaded in development, when options are given. `tests/option-names.test.ts` compares the names with the types. */

const request = "signal headers timeouts retry idempotencyKey";
const watch = "presence intervalMs pollInBackground";
/** The options of `TaskStoreOptions`. */
const task = `${watch} whenBusy request onCreate onSuccess onError`;

/** The options of each function, and of the hook that passes its own on to it. */
const functions = {
  createClient: `baseURL apiKey headers credentials scope fetch timeouts retry idempotencyKeys assetLookup
    normalizeVideoTask includeUsage onEvent clock random dangerouslyAllowBrowser`,
  "createChatStore or useChatStream": `model params id initialMessages instructions tools maxSteps schema jsonSchema whenBusy
    throttleMs request storage onFinish onError`,
  "createImageStore or useImages": "id model params whenBusy request onSuccess onError",
  "createVideoTaskStore or useVideoTask": `taskId enabled select storage checkMedia ${task}`,
  "createVideoTaskList or useVideoTasks": `storage ${watch}`,
  "createAssetStore or useAsset": `assetId groupId prepare ${task}`,
  "createUploadStore or useUpload": "storage use headers",
  useAttachments: "max maxBytes maxSide downscale words",
  useConversations: "storage activeId pageSize titleOf restoreMs",
  useDraft: "storage parse",
  useTaskNotifications: "worker words storage",
  createEmulator: `apiKeys clock speed durations chat media script fetchMedia onEnd faults origin cors strict keepRequests`,
};

/** The options within an option. */
const nested: Readonly<Record<string, string>> = {
  timeouts: "headersMs firstChunkMs chunkMs totalMs",
  retry: "limit maxDelayMs",
  request: `${request} upload`,
  durations: "imageMs videoMs",
};

/** The paths that each `warn` was told of. */
const told = new WeakMap<object, Set<string>>();

/** Warns of each option that a function does not know, once for each path. */
export function warnOfOptions(of: WithOptions, options: object, warn: (issue: Issue) => void): void {
  const paths = told.get(warn) ?? new Set();
  told.set(warn, paths);
  for (const issue of unknownOptionsOf(of, typeof options === "function" ? options() : options)) {
    if (paths.has(issue.path)) continue;
    paths.add(issue.path);
    warn(issue);
  }
}

/** A function with options, as its warnings call it. */
export type WithOptions = keyof typeof functions;

/** Returns an issue for each option that a function does not know, also for those within an option. */
export function unknownOptionsOf(of: WithOptions, options: object): Issue[] {
  return unknownOptions(of, functions[of], nested, options);
}
