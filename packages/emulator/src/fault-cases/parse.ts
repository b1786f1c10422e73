import { describeThrown } from "@sluice/core/extend";
import * as v from "valibot";
import { type FaultCase, faultErrors, faultOutcomes, operations } from "./fault-case.js";

const text = v.string("must be a string");
const filled = v.pipe(text, v.nonEmpty("must not be empty"));
const object = v.record(v.string(), v.unknown(), "must be an object");
const milliseconds = v.pipe(v.number("must be a number"), v.minValue(0, "must be 0 or more"));
const count = createInteger(1, 1000);
const name = v.pipe(
  text,
  v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "must be lower-case words with hyphens between them"),
  v.maxLength(32, "must have at most 32 characters"),
);

const contents = ["delta", "data", "text", "base64"];
const piece = v.pipe(
  createObject("a piece", {
    afterMs: v.optional(milliseconds),
    times: v.optional(count),
    delta: v.optional(v.nullable(object)),
    finish_reason: v.optional(v.unknown()),
    choice: v.optional(object),
    chunk: v.optional(object),
    data: v.optional(v.unknown()),
    text: v.optional(text),
    base64: v.optional(v.pipe(text, v.base64("must be Base64"))),
  }),
  v.check(
    (given) => contents.filter((field) => field in given).length === 1,
    `must have exactly one of ${contents.join(", ")}`,
  ),
  v.check(
    (given) => "delta" in given || !["finish_reason", "choice", "chunk"].some((field) => field in given),
    "needs a delta for finish_reason, choice and chunk",
  ),
);

const response = v.pipe(
  createObject("a response", {
    method: v.optional(createChoice(["GET", "POST"])),
    status: v.optional(createInteger(200, 599)),
    headers: v.optional(v.record(text, text, "must be an object of strings")),
    afterMs: v.optional(milliseconds),
    body: v.optional(v.unknown()),
    pieces: v.optional(v.array(piece, "must be a list of pieces")),
    end: v.optional(createChoice(["finished", "cut", "stall"])),
  }),
  v.check((given) => !("body" in given && "pieces" in given), "must have body or pieces, not both"),
  v.check(
    ({ status, end = "finished" }) => status !== undefined || end !== "finished",
    "must have a status, or the end cut or stall",
  ),
);

const toolCall = createObject("a tool call", { name: text, arguments: v.unknown() });
const outcome = createObject("an outcome", {
  outcome: createChoice(faultOutcomes),
  error: v.optional(createChoice(faultErrors)),
  billing: v.optional(createChoice(["none", "maybe"])),
  words: v.optional(filled),
  text: v.optional(text),
  reasoning: v.optional(text),
  toolCalls: v.optional(v.array(toolCall, "must be a list of tool calls")),
  totalTokens: v.optional(v.number("must be a number")),
  urls: v.optional(v.array(v.nullable(text), "must be a list of URLs")),
  lesser: v.optional(v.boolean("must be true or false")),
});

const file = createObject("a file of faults", {
  group: filled,
  faults: v.array(
    createObject("a fault", {
      name,
      title: filled,
      operation: createChoice(Object.keys(operations)),
      report: filled,
      responses: v.pipe(v.array(response, "must be a list of responses"), v.nonEmpty("must not be empty")),
      maxRequests: count,
      right: v.pipe(v.array(outcome, "must be a list of outcomes"), v.nonEmpty("must not be empty")),
    }),
    "must be a list of faults",
  ),
});

/**
 * Parses a file of faults: a `group`, and a list of `faults`. A fault is data, and nothing in it is executed.
 *
 * @throws TypeError that names each wrong field, `tool-calls-without-ids: responses.0.end must be one of …`.
 * @example
 * ```ts
 * const source = JSON.stringify({
 *   group: "Ours",
 *   faults: [
 *     {
 *       name: "maintenance",
 *       title: "The gateway is closed for an hour",
 *       operation: "stream-chat",
 *       report: "our status page",
 *       responses: [{ status: 503, headers: { "retry-after": "3600" }, body: { error: { message: "closed" } } }],
 *       maxRequests: 1,
 *       right: [{ outcome: "error", error: "server", words: "closed" }],
 *     },
 *   ],
 * });
 * const emulator = createEmulator({ faultCases: parseFaultCases(source) });
 * const client = createClient({ ...emulator.clientOptions, baseURL: "https://gateway.test/faults/maintenance" });
 * ```
 */
export function parseFaultCases(source: string): FaultCase[] {
  const value = parseJSON(source);
  const { success, output, issues } = v.safeParse(file, value);
  if (!success) throw new TypeError(issues.map((issue) => describeIssue(issue, value)).join("\n"));
  const { group, faults } = output as { group: string; faults: Omit<FaultCase, "group">[] };
  assertDistinct(faults.map((fault) => fault.name));
  return faults.map((fault) => ({ ...fault, group }));
}

/** Throws a `TypeError` if two faults have one name. */
export function assertDistinct(names: readonly string[]): void {
  const twice = names.find((one, at) => names.indexOf(one) !== at);
  if (twice !== undefined) throw new TypeError(`two faults have the name ${twice}`);
}

function createObject<const Entries extends v.ObjectEntries>(what: string, entries: Entries) {
  return v.strictObject(entries, ({ expected, input }) => {
    if (expected === "never")
      return `is not a field of ${what}; there are ${Object.keys(entries).join(", ")}`;
    return input === undefined ? "is missing" : `must be ${what}`;
  });
}

function createChoice<const Names extends readonly string[]>(names: Names) {
  return v.picklist(names, `must be one of ${names.join(", ")}`);
}

function createInteger(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return v.pipe(v.number(message), v.integer(message), v.minValue(min, message), v.maxValue(max, message));
}

/** Describes a wrong field, behind the name of its fault if it has one. */
function describeIssue(issue: v.BaseIssue<unknown>, value: unknown): string {
  const keys = (issue.path ?? []).map(({ key }) => key);
  const [list, at, ...rest] = keys;
  const { faults } = (value ?? {}) as { readonly faults?: readonly ({ readonly name?: unknown } | null)[] };
  const known = list === "faults" && typeof at === "number" ? faults?.[at]?.name : undefined;
  if (typeof known === "string" && rest.length > 0) return `${known}: ${rest.join(".")} ${issue.message}`;
  return `${keys.length > 0 ? keys.join(".") : "the file"} ${issue.message}`;
}

function parseJSON(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new TypeError(`it is not JSON: ${describeThrown(error)}`);
  }
}
