import type { Issue } from "../types/errors.js";
import { findAdvice } from "./foreign-names.js";
import { findUnusableOptions } from "./option-kinds.js";
import { findUnknownOptions } from "./unknown-options.js";

/*
 * Loaded in development. Each list has the names of options, separated by spaces. `tests/rules/option-names.test.ts` compares the
 * names with the types.
 */

const send = "headers timeout retry checks";
const request = `signal ${send} idempotencyKey`;
const watch = "presence intervalMs pollInBackground";
/** The options of `TaskStoreOptions`. */
const task = `${watch} whenBusy ${send} onCreate onSuccess onError`;

/** The options of each function, and of its hook. */
const functions = {
  createClient: `baseURL apiKey headers credentials user fetch timeout retry idempotencyKeys uploads
    resume gateway onEvent clock random dangerouslyAllowBrowser`,
  "createChatStore or useChatStream": `model params id initialMessages instructions prepareMessages tools maxSteps outputSchema whenBusy
    throttleMs ${send} storage runner onFinish onError`,
  "createImageStore or useImages": `id model params whenBusy ${send} onSuccess onError`,
  "createVideoTaskStore or useVideoTask": `taskId enabled select storage ${task}`,
  "createVideoTaskList or useVideoTasks": `storage ${watch}`,
  "createAssetStore or useAsset": `assetId groupId prepare encoding ${task}`,
  createUploadStore: "storage use parser headers",
  uploadMedia: "signal onProgress use parser headers storage",
  createBatch: "id storage concurrency onResult headers timeout retry intervalMs deadlineMs",
  "recordReceipts or listReceipts": "storage since until",
  signOut: "storages",
  "a request": `${request} encoding label intervalMs deadlineMs pollInBackground presence onPoll
    seenBefore stopOnAbort`,
  "a message": "images",
  defineTool: "name description inputSchema execute needsApproval timeoutMs",
  useAttachments: "max maxBytes maxSide downscale messages",
  "createConversationList or useConversations": "storage createTitle restoreMs activeId folder pageSize",
  createEmulator: `apiKeys clock speed durations chat media script fetchMedia onEnd faults faultCases origin cors differs maxRequests state`,
};

/** The options within an option. */
const nested: Readonly<Record<string, string>> = {
  timeout: "firstChunkMs chunkMs totalMs",
  retry: "limit maxRetryAfterMs",
  gateway: "assetLookup parseVideoTask includeUsage",
  durations: "imageMs videoMs",
};

/** Path prefixes that differ from the name of the function. */
const paths: Readonly<Record<string, string>> = { "a request": "options", "a message": "send" };

/** The paths that were reported to each `warn`. */
const reported = new WeakMap<object, Set<string>>();

/** Warns about each unknown or unusable option, once for each path. */
export function warnOfOptions(
  functionName: OptionsOwner,
  options: unknown,
  warn: (issue: Issue) => void,
): void {
  const reportedPaths = reported.get(warn) ?? new Set();
  reported.set(warn, reportedPaths);
  const values = typeof options === "function" ? options() : options;
  for (const issue of findOptionIssues(functionName, values)) {
    if (reportedPaths.has(issue.path)) continue;
    reportedPaths.add(issue.path);
    warn(issue);
  }
}

/** A function with options, by its name in warnings. A store that is not listed has the options of every task store. */
export type OptionsOwner = keyof typeof functions | `create${string}Store or use${string}`;

function findOptionIssues(functionName: OptionsOwner, options: unknown): Issue[] {
  const listed: Readonly<Record<string, string>> = functions;
  const names = listed[functionName] ?? `taskId ${task}`;
  // of a store and its hook, the path names the store
  const path = paths[functionName] ?? functionName.replace(/ .*/, "");
  const known = { names, path, nested, advice: findAdvice(functionName) };
  return [...findUnknownOptions(functionName, known, options), ...findUnusableOptions(path, names, options)];
}
