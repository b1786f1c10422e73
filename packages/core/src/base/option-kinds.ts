import type { Issue } from "../types/errors.js";

/* Loaded in development: option values that would fail later or have no effect. */

/** A kind of value: its check, and the advice for other values. */
type Kind = readonly [isUsable: (value: unknown) => boolean, advice: string];

const isFunction = (value: unknown) => typeof value === "function";
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
const hasMethods = (value: unknown, ...names: readonly string[]) =>
  isObject(value) && names.every((name) => isFunction((value as Record<string, unknown>)[name]));
const isNotNegative = (value: unknown) => typeof value === "number" && value >= 0;

const callback: Kind = [isFunction, "give a function"];
const limits: Kind = [
  (value) =>
    isObject(value) &&
    Object.values(value as object).every((limit) => limit === undefined || isNotNegative(limit)),
  "give numbers from 0 up, as { totalMs: 60_000 } or { limit: 2 }",
];
const busyActions = ["reject", "queue", "replace", "join"];

const kinds: Readonly<Record<string, Kind>> = {
  fetch: callback,
  onEvent: callback,
  onFinish: callback,
  onError: callback,
  onSuccess: callback,
  onCreate: callback,
  onPoll: callback,
  onResult: callback,
  onEnd: callback,
  prepare: callback,
  prepareMessages: callback,
  createTitle: callback,
  execute: callback,
  chat: callback,
  faults: [isFunction, "give a function of each request, (request, nth) => …"],
  headers: [
    (value) => isFunction(value) || typeof value === "object",
    'give an object, { "x-name": "value" }',
  ],
  timeout: limits,
  retry: limits,
  gateway: [isObject, "give { assetLookup, parseVideoTask, includeUsage }"],
  params: [isObject, "give an object of the request's fields, { max_tokens: 500 }"],
  signal: [
    (value) => isObject(value) && "aborted" in (value as object),
    "give the `signal` of an AbortController",
  ],
  instructions: [
    (value) => typeof value === "string" || isFunction(value),
    "give a text, or a function that returns one",
  ],
  whenBusy: [
    (value) => busyActions.includes(String(value)),
    `give one of ${busyActions.slice(0, 3).join(", ")}`,
  ],
  maxSteps: [(value) => Number.isInteger(value) && Number(value) > 0, "give a whole number from 1 up"],
  images: [Array.isArray, "give a list of files or URLs"],
  outputSchema: [
    (value) => typeof value === "object" || isFunction(value),
    "give a schema of valibot, zod or another library",
  ],
  uploads: [(value) => hasMethods(value, "upload"), "give uploads() of @sluice/media"],
  resume: [(value) => hasMethods(value, "open"), "give streamResumption()"],
  storage: [
    (value) => hasMethods(value, "read", "write", "subscribe"),
    "give indexedDBStorage(), webStorage(() => localStorage), memoryStorage(), or an object with read, write and subscribe",
  ],
  tools: [
    (value) => Array.isArray(value) && value.every((tool) => hasMethods(tool, "definition")),
    "give a list of tools made by defineTool()",
  ],
};

/**
 * Returns an issue for each option with an unusable value, and for tools that share a name.
 *
 * @param path prefix of the issues' paths
 * @param names the options of the function, separated by spaces
 */
export function findUnusableOptions(path: string, names: string, options: unknown): Issue[] {
  if (!isObject(options)) return [];
  const known = names.split(/\s+/);
  const createIssue = (path: string, message: string) => ({ path, message, rule: "options.kind" });
  const unusable = Object.entries(options as object).flatMap(([name, value]) => {
    const [isUsable, advice] = kinds[name] ?? [];
    if (!isUsable || !known.includes(name) || value === undefined || value === null) return [];
    return isUsable(value) ? [] : createIssue(`${path}.${name}`, `can't be used: ${advice}`);
  });
  // a signal inherits its fields, so the loop above does not see them
  const isSignal = "aborted" in (options as object);
  const sharedName = findSharedName((options as { tools?: unknown }).tools);
  return [
    ...unusable,
    ...(isSignal ? [createIssue(path, "is a signal: give { signal }")] : []),
    ...(sharedName === undefined
      ? []
      : [
          createIssue(
            `${path}.tools`,
            `has two tools called "${sharedName}", and only the first would run: rename one`,
          ),
        ]),
  ];
}

/** Returns a name that two tools share. The model calls a tool by name, so only the first one would run. */
function findSharedName(tools: unknown): string | undefined {
  const names: readonly string[] = Array.isArray(tools) ? tools.map((tool) => tool?.name) : [];
  return names.find((name, index) => name !== undefined && names.indexOf(name) !== index);
}
