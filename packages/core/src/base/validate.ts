import * as v from "valibot";
import { type Issue, ValidationError } from "../errors.js";
import { didYouMean, nearest } from "./nearest.js";
import { unknownFields } from "./unknown-fields.js";

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

/**
 * The config of every check: the app may share this copy of valibot, and its global config and messages must not
 * reach in. A language of ours has none of the app's messages, and `message` leaves the words to {@link describe}.
 */
const CONFIG = { lang: "sluice", message: () => "", abortEarly: false, abortPipeEarly: false };

/** Every broken rule of `input`, named under `family` (`chat.alpha`); empty when it is valid. */
function issuesOf(schema: v.GenericSchema, input: unknown, family: string): Issue[] {
  const { issues = [] } = schema["~run"]({ value: input }, CONFIG);
  return issues.map((issue) => {
    const path = issue.path?.map(({ key }) => key).join(".") ?? "";
    const [name, message] = nameAndMessage(issue, path, family);
    return { path, message, rule: name };
  });
}

/** Input of a schema, with `as const` values and frozen state. */
export type RequestOf<Schema extends v.GenericSchema> = ReadonlyDeep<v.InferInput<Schema>>;
type ReadonlyDeep<T> = T extends Blob
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: ReadonlyDeep<T[Key]> }
    : T;

/** Compiles where a request that is declared by hand is the very type that its schema takes. */
export type Same<
  Declared extends Exactly<Declared, RequestOf<Schema>>,
  Schema extends v.GenericSchema,
> = Declared;
type Exactly<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2
    ? unknown
    : ["another type than its schema takes:", B];

/** A number within bounds, both included. */
/* @__NO_SIDE_EFFECTS__ */
export function between(from: number, to: number) {
  return v.pipe(
    v.number(),
    v.check(
      (number) => number >= from && number <= to,
      ({ received }) => `must be from ${from} to ${to}, got ${received}`,
    ),
  );
}

/** A whole number, from `from` on and up to `to` where they are given. */
/* @__NO_SIDE_EFFECTS__ */
export function wholeNumber(from?: number, to?: number) {
  const upper = to === undefined ? " up" : ` to ${to}`;
  const range = from === undefined ? "" : ` from ${from}${upper}`;
  return v.pipe(
    v.number(),
    v.check(
      (number) => Number.isInteger(number) && number >= (from ?? number) && number <= (to ?? number),
      ({ received }) => `must be a whole number${range}, got ${received}`,
    ),
  );
}

/** Refuses an empty text or list. */
/* @__NO_SIDE_EFFECTS__ */
export function notEmpty<Input extends { readonly length: number }>() {
  return v.check<Input, string>(({ length }) => length > 0, "must not be empty");
}

declare const refused: unique symbol;

/** Type of a field that a model does not have: no value fits, and the compiler prints `Why`. */
export interface Denied<Why extends string> {
  readonly [refused]: Why;
}

type Refused<Why extends string> = string extends Why ? never : Denied<Why>;

/** Entries of fields that the spec denies to a model, refused with the message of each; see `denied` in `models.ts`. */
/* @__NO_SIDE_EFFECTS__ */
export function refusing<const Denials extends { readonly [field: string]: string }>(denied: Denials) {
  const entries = Object.entries<string>(denied).map(([name, why]) => [name, v.optional(v.never(why))]);
  return Object.fromEntries(entries) as {
    -readonly [Name in keyof Denials]: v.OptionalSchema<v.GenericSchema<Refused<Denials[Name]>>, undefined>;
  };
}

/** Result of the check of a request. */
export interface Findings {
  /** Broken rules: the gateway would refuse the request. */
  readonly issues: Issue[];
  /**
   * Parts of the request that the gateway would ignore or may not know, such as an unknown field. The request
   * is sent all the same. Empty where there are issues.
   */
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
    const known = Object.keys(schemas);
    const meant = typeof model === "string" ? didYouMean(model, known) : "";
    const message = `must be one of ${known.join(", ")}${meant}`;
    return { issues: [{ path: "model", message, rule: `${resource}.model` }], warnings: [] };
  }
  const { family } = models[model as Model];
  const schema: v.GenericSchema = schemas[model as Model];
  const prefix = family === resource ? resource : `${resource}.${family}`;
  const issues = issuesOf(schema, request, prefix);
  const warnings: Issue[] = [];
  const warn: Warn = (path, name, message) => warnings.push({ path, message, rule: `${prefix}.${name}` });
  if (issues.length > 0) return { issues, warnings };
  for (const { path, name, known } of unknownFields(schema, request))
    warn(path, "unknown-field", `is not a known field of this model${didYouMean(name, known)}`);
  warnOf(request as Request, warn);
  return { issues, warnings };
}

const uncheckedBrand: unique symbol = Symbol.for("sluice.unchecked") as never;

/**
 * Id of a model that is sent through {@link unchecked}. No string has this type: the compiler prints its name
 * beside the known models where a model is not one of them.
 */
export type UncheckedModel = string & UncheckedRequest;

/** Parameters that {@link unchecked} has marked: they are sent as they are. */
export interface UncheckedParams {
  readonly [uncheckedBrand]: true;
}

/** A request that {@link unchecked} has marked. */
export interface UncheckedRequest extends UncheckedParams {
  /** Id of the model. A store adds its own where the request has none. */
  readonly model: UncheckedModel;
}

/**
 * Marks a request that is sent as it is, without any check: for a model or a field that the gateway knows and
 * this version does not. The caller is responsible for its fields.
 *
 * @example
 * ```ts
 * streamChat(client, unchecked({ model: "alpha-v5", messages: [{ role: "user", content: "Hello" }] }));
 * ```
 */
export function unchecked<Request extends object>(request: Request): Request & UncheckedRequest {
  // a symbol: JSON leaves it out, and a spread keeps it
  return { ...request, [uncheckedBrand]: true } as Request & UncheckedRequest;
}

/** Tells whether a request was marked by {@link unchecked}. */
export function isUnchecked(request: unknown): request is UncheckedRequest {
  return typeof request === "object" && request !== null && uncheckedBrand in request;
}

/**
 * Lets a request pass that breaks no rule, or that is {@link unchecked}; `warn` gets each of its warnings.
 *
 * @param newer the code that sends a model that the tables don't know, as its caller would write it
 * @throws {ValidationError}
 */
export function assertAccepted(
  request: unknown,
  check: (request: unknown) => Findings,
  warn: (issue: Issue) => void,
  newer: string,
): void {
  if (isUnchecked(request)) return;
  const { issues, warnings } = check(request);
  const [first] = issues;
  if (first?.path === "model")
    throw new ValidationError([
      { ...first, message: `${first.message} (send one that is not listed as \`${newer}\`)` },
    ]);
  if (first) throw new ValidationError(issues);
  for (const issue of warnings) warn(issue);
}

function nameAndMessage(issue: v.BaseIssue<unknown>, path: string, family: string): [string, string] {
  const { type, message } = issue;
  if (type.startsWith(NAMED)) return [`${family}.${type.slice(NAMED.length)}`, message];
  const field = path
    .replace(/\.\d+(?=\.|$)/g, "")
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
  return [field ? `${family}.${field}` : family, message || describe(issue)];
}

function describe({ expected, received, input, path }: v.BaseIssue<unknown>): string {
  if (input === undefined) {
    const { input: around, key } = path?.at(-1) ?? {};
    const misspelt = nearest(String(key), Object.keys(around ?? {}));
    const kind = expected?.startsWith('"') ? "" : ` (${expected})`;
    return `is required${kind}${misspelt ? `; did you misspell it as \`${misspelt}\`?` : ""}`;
  }
  const kinds = expected?.replace(/[()]/g, "");
  const got = received.length > 60 ? `${received.slice(0, 60)}…` : received;
  return `expected ${kinds}, got ${got}`;
}
