import type { Issue } from "../types/errors.js";
import { formatSuggestion } from "./did-you-mean.js";
import { findUnusableOptions } from "./option-kinds.js";

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
  createUploadStore: "storage use headers",
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
const told = new WeakMap<object, Set<string>>();

/** Warns about each unknown or unusable option, once for each path. */
export function warnOfOptions(of: WithOptions, options: unknown, warn: (issue: Issue) => void): void {
  const paths = told.get(warn) ?? new Set();
  told.set(warn, paths);
  for (const issue of findOptionIssues(of, typeof options === "function" ? options() : options)) {
    if (paths.has(issue.path)) continue;
    paths.add(issue.path);
    warn(issue);
  }
}

/** A function with options, by its name in warnings. */
export type WithOptions = keyof typeof functions;

function findOptionIssues(of: WithOptions, options: unknown): Issue[] {
  const names = functions[of];
  const path = paths[of] ?? of.replace(/ .*/, "");
  return [...findUnknownOptions(of, names, path, options), ...findUnusableOptions(path, names, options)];
}

/** Returns an issue for each option of `of` that is not in `names`, and for options that are not an object. */
function findUnknownOptions(of: WithOptions, names: string, path: string, options: unknown): Issue[] {
  const known = names.split(/\s+/);
  const createIssue = (path: string, message: string) => ({ path, message, rule: "options.unknown" });
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return [
      createIssue(
        path,
        `must be an object: { ${known.slice(0, 3).join(", ")}${known.length > 3 ? ", …" : ""} }`,
      ),
    ];
  return Object.entries(options).flatMap(([name, value]) => {
    const own = `${path}.${name}`;
    const within = nested[name];
    if (value === undefined) return [];
    if (!known.includes(name))
      return createIssue(own, `is no option of ${of}${formatSuggestion(name, known)}`);
    return within === undefined || typeof value === "function"
      ? []
      : findUnknownOptions(of, within, own, value);
  });
}
