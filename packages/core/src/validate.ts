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
function issuesOf(schema: v.GenericSchema, input: unknown, family: string): Issue[] {
  const { issues = [] } = v.safeParse(schema, input);
  return issues.map((issue) => {
    const path = issue.path?.map(({ key }) => key).join(".") ?? "";
    const [name, message] = nameAndMessage(issue, path, family);
    return { path, message, rule: name };
  });
}

/** What a schema takes, `as const` values and frozen state included. */
export type RequestOf<Schema extends v.GenericSchema> = ReadonlyDeep<v.InferInput<Schema>>;
type ReadonlyDeep<T> = T extends Blob
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: ReadonlyDeep<T[Key]> }
    : T;

/** A number within bounds, both included. */
/* @__NO_SIDE_EFFECTS__ */
export function between(from: number, to: number) {
  return v.pipe(v.number(), v.minValue(from), v.maxValue(to));
}

/** A whole number within bounds, both included. */
/* @__NO_SIDE_EFFECTS__ */
export function integerBetween(from: number, to: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(from), v.maxValue(to));
}

/** What the check of a request finds. */
export interface Findings {
  /** What the gateway would refuse. */
  readonly issues: Issue[];
  /** What it would accept and ignore, or what the spec neither lists nor forbids. Only of a request without issues. */
  readonly warnings: Issue[];
}

/** Tells of something that is no broken rule. */
export type Warn = (path: string, name: string, message: string) => void;

/** Checks `request` by the schema of its `model`; `models` gives the family that its rules are named after. */
export function checkByModel<Model extends string, Request>(
  request: unknown,
  resource: string,
  models: { readonly [Id in Model]: { readonly family: string } },
  schemas: { readonly [Id in Model]: v.GenericSchema },
  warnOf: (request: Request, warn: Warn) => void,
): Findings {
  const { model } = (request ?? {}) as { model?: unknown };
  if (typeof model !== "string" || !Object.hasOwn(schemas, model)) {
    const known = Object.keys(schemas).join(", ");
    const message = `must be one of ${known}; send another model's request through unchecked()`;
    return { issues: [{ path: "model", message, rule: `${resource}.model` }], warnings: [] };
  }
  const { family } = models[model as Model];
  const prefix = family === resource ? resource : `${resource}.${family}`;
  const issues = issuesOf(schemas[model as Model], request, prefix);
  const warnings: Issue[] = [];
  if (issues.length === 0)
    warnOf(request as Request, (path, name, message) =>
      warnings.push({ path, message, rule: `${prefix}.${name}` }),
    );
  return { issues, warnings };
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

function isUnchecked(request: unknown): request is UncheckedRequest {
  return typeof request === "object" && request !== null && uncheckedBrand in request;
}

/**
 * Lets a request pass that breaks no rule, or that is {@link unchecked}; `warn` gets each of its warnings.
 *
 * @throws {ValidationError}
 */
export function assertAccepted(
  request: unknown,
  check: (request: unknown) => Findings,
  warn: (issue: Issue) => void,
): void {
  if (isUnchecked(request)) return;
  const { issues, warnings } = check(request);
  if (issues.length > 0) throw new ValidationError(issues);
  for (const issue of warnings) warn(issue);
}

function nameAndMessage(issue: v.BaseIssue<unknown>, path: string, family: string): [string, string] {
  const { type, expected } = issue;
  if (type.startsWith(NAMED)) return [`${family}.${type.slice(NAMED.length)}`, issue.message];
  if (type === "strict_object" && expected === "never")
    return [
      `${family}.unknown-field`,
      "is not a field of this model; remove it, or send the request through unchecked() if the gateway knows it",
    ];
  const field = path
    .replace(/\.\d+(?=\.|$)/g, "")
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
  const isOurs = !issue.message.startsWith("Invalid ");
  return [field ? `${family}.${field}` : family, isOurs ? issue.message : describe(issue)];
}

function describe({ type, expected, received, input }: v.BaseIssue<unknown>): string {
  if (input === undefined) return `is required${expected?.startsWith('"') ? "" : ` (${expected})`}`;
  if (type === "min_length") return `must not be empty (expected ${expected} entries)`;
  if (type === "max_length") return `is too long: expected ${expected}, got ${received}`;
  if (type === "integer") return `must be a whole number, got ${received}`;
  const kinds = expected?.replace(/[()]/g, "");
  const got = received.length > 60 ? `${received.slice(0, 60)}…` : received;
  return `expected ${kinds}, got ${got}`;
}
