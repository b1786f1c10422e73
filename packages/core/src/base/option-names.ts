import type { Issue } from "../types/errors.js";
import { findAdvice } from "./foreign-names.js";
import { findUnusableOptions } from "./option-kinds.js";
import { findUnknownOptions } from "./unknown-options.js";

/* Loaded in development. `tests/rules/option-names.test.ts` compares the names with the types. */

const sent = "headers timeout retry checks";
const request = `signal ${sent} idempotencyKey`;
const watch = "presence intervalMs pollInBackground";
/** The options of `TaskStoreOptions`. */
const task = `${watch} whenBusy ${sent} onCreate onSuccess onError`;

/** The options of each function, and of its hook. */
const functions = {
  createClient: `baseURL apiKey headers credentials user fetch timeout retry idempotencyKeys uploads
    resume gateway onEvent clock random dangerouslyAllowBrowser`,
  "createChatStore or useChatStream": `model params id initialMessages instructions prepareMessages tools maxSteps outputSchema whenBusy
    throttleMs ${sent} storage runner onFinish onError`,
  "createImageStore or useImages": `id model params whenBusy ${sent} onSuccess onError`,
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
export function warnOfOptions(of: WithOptions, options: unknown, warn: (issue: Issue) => void): void {
  const paths = reported.get(warn) ?? new Set();
  reported.set(warn, paths);
  for (const issue of findOptionIssues(of, typeof options === "function" ? options() : options)) {
    if (paths.has(issue.path)) continue;
    paths.add(issue.path);
    warn(issue);
  }
}

/** A function with options, by its name in warnings. A store that is not listed has the options of every task store. */
export type WithOptions = keyof typeof functions | `create${string}Store or use${string}`;

function findOptionIssues(of: WithOptions, options: unknown): Issue[] {
  const listed: Readonly<Record<string, string>> = functions;
  const names = listed[of] ?? `taskId ${task}`;
  const path = paths[of] ?? of.replace(/ .*/, "");
  const known = { names, path, nested, advice: findAdvice(of) };
  return [...findUnknownOptions(of, known, options), ...findUnusableOptions(path, names, options)];
}
