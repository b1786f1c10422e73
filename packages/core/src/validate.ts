import * as v from "valibot";
import { type Issue, ValidationError } from "./errors.js";

const NAMED = "rule/";

/**
 * A check that carries its own rule name, for what no single field's type can say. Give it to `v.pipe`;
 * `v.forward` moves its issue to a field.
 */
/* @__NO_SIDE_EFFECTS__ */
export function rule<Input>(
  name: string,
  holds: (input: Input) => boolean,
  message: string,
): v.CheckAction<Input, string> {
  // valibot copies an action's `type` onto its issues: the one place where a name can travel with them
  return { ...v.check(holds, message), type: `${NAMED}${name}` as "check" };
}

/** Every broken rule of `input`, named under `family` (`chat.alpha`); empty when it is valid. */
export function issuesOf(schema: v.GenericSchema, input: unknown, family: string): Issue[] {
  const { issues = [] } = v.safeParse(schema, input);
  return issues.map((issue) => {
    const path = v.getDotPath(issue) ?? "";
    const [name, message] = nameAndMessage(issue, path, family);
    return { path, message, rule: name };
  });
}

const uncheckedBrand: unique symbol = Symbol.for("sluice.unchecked") as never;

/** A request that {@link unchecked} has marked. */
export interface UncheckedRequest {
  readonly [uncheckedBrand]: true;
}

/**
 * Marks a request to be sent as it is, without any check: for a model or a field that the gateway knows and
 * this version of the tables does not. `model` and the rest are then the caller's own responsibility.
 *
 * @example
 * ```ts
 * streamChat(client, unchecked({ model: "alpha-v5", messages: [{ role: "user", content: "Hello" }] }));
 * ```
 */
export function unchecked<Request extends object>(request: Request): Request & UncheckedRequest {
  // a symbol: JSON leaves it out, and a spread keeps it
  return { ...request, [uncheckedBrand]: true };
}

/** Whether a request is to be sent as it is. */
export function isUnchecked(request: unknown): request is UncheckedRequest {
  return typeof request === "object" && request !== null && uncheckedBrand in request;
}

/** Throws a {@link ValidationError} if there is any issue. */
export function assertNoIssues(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(issues);
}

function nameAndMessage(issue: v.BaseIssue<unknown>, path: string, family: string): [string, string] {
  const { type, expected } = issue;
  if (type.startsWith(NAMED)) return [`${family}.${type.slice(NAMED.length)}`, issue.message];
  if (type === "strict_object" && expected === "never")
    return [
      `${family}.unknown-field`,
      "is not a field of this model; remove it, or send the request through unchecked() if the gateway knows it",
    ];
  const field = path.replace(/\.\d+(?=\.|$)/g, "").replaceAll("_", "-");
  const isOurs = !issue.message.startsWith("Invalid ");
  return [field ? `${family}.${field}` : family, isOurs ? issue.message : describe(issue)];
}

function describe({ type, expected, received, input }: v.BaseIssue<unknown>): string {
  if (input === undefined) return `is required${expected?.startsWith('"') ? "" : ` (${expected})`}`;
  if (type === "min_length" || type === "non_empty")
    return `must not be empty (expected ${expected} entries)`;
  if (type === "max_length") return `is too long: expected ${expected}, got ${received}`;
  if (type === "integer") return `must be a whole number, got ${received}`;
  const got = received.length > 60 ? `${received.slice(0, 60)}…` : received;
  return `expected ${expected?.replace(/^\((.*)\)$/, "$1")}, got ${got}`;
}
