import * as v from "valibot";
import { type Issue, ValidationError } from "../types/errors.js";
import { addAdvice } from "./advice.js";
import { formatSuggestion } from "./did-you-mean.js";
import { addHint, addMisspellingHint } from "./note-options.js";
import { findUnknownFields } from "./unknown-fields.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const RULE = "rule";

/**
 * Creates a check with a rule name, for a rule about several fields. Use it in `v.pipe`.
 *
 * @param field the field of the input that the issue names. @default the input itself
 */
/* @__NO_SIDE_EFFECTS__ */
export function rule<Input>(
  name: string,
  holds: (input: Input) => boolean,
  message: string,
  field = "",
): v.CheckAction<Input, string> {
  // valibot copies the `type` of an action to its issues, so the name and the field are stored there
  return { ...v.check(holds, message), type: `${RULE}/${name}/${field}` as "check" };
}

/** Creates a rule about the number of items whose field `field` has one of `values`: from `min` to `max`. */
/* @__NO_SIDE_EFFECTS__ */
export function itemCount<Items extends readonly object[]>(
  name: string,
  field: string,
  values: readonly string[],
  [min, max]: readonly [min: number, max: number],
  message: string,
): v.CheckAction<Items, string> {
  const hasValue = (item: object) => values.includes((item as Record<string, string>)[field] ?? "");
  return withKeywords(
    { items: { field, values, min, max } },
    rule<Items>(
      name,
      (items) => {
        const { length } = items.filter(hasValue);
        return length >= min && length <= max;
      },
      message,
    ),
  );
}

/**
 * Config of every check. The app may share this copy of valibot, and its global config and messages must not apply
 * here. The app has no messages for this language, and {@link describe} writes the texts instead of `message`.
 */
const CONFIG = { lang: "sluice", message: () => "", abortEarly: false, abortPipeEarly: false };

/** Returns one issue for each broken rule of `input`, named under `family` (`chat.alpha`). */
function collectIssues(schema: v.GenericSchema, input: unknown, family: string): Issue[] {
  const { issues = [] } = schema["~run"]({ value: input }, CONFIG);
  return issues.map((issue) => {
    const keys = issue.path?.map(({ key }) => key) ?? [];
    const [kind, name, field] = issue.type.split("/");
    if (kind !== RULE) return createIssue(keys.join("."), issue, family);
    const path = (field ? [...keys, field] : keys).join(".");
    return { path, message: issue.message, rule: `${family}.${name}` };
  });
}

/**
 * Type of the objects that a schema accepts, with the docs of its fields. It is deeply read-only, so that `as const`
 * values and frozen state fit.
 */
export type RequestOf<Schema extends v.GenericSchema> = {
  readonly [Key in keyof v.InferInput<Schema>]: DeepReadonly<v.InferInput<Schema>[Key]>;
};

/** Types of the requests that a table of schemas accepts. */
export type RequestsOf<Schemas extends { readonly [model: string]: v.GenericSchema }> = {
  readonly [Model in keyof Schemas]: DeepReadonly<v.InferInput<Schemas[Model]>>;
};

type ReadonlyFields<T> = { readonly [Key in keyof T]: DeepReadonly<T[Key]> };
// a read-only type keeps its name, which the compiler prints in errors
type DeepReadonly<T> = T extends Blob
  ? T
  : T extends object
    ? IsSame<T, ReadonlyFields<T>> extends true
      ? T
      : { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Adds the equivalent JSON Schema keywords to a check. */
/* @__NO_SIDE_EFFECTS__ */
export function withKeywords<Action extends object>(keywords: object, action: Action): Action {
  note(action, () => ({ keywords }));
  return action;
}

/**
 * Adds notes for scripts and tests to a check or a schema. Pages do not need them: in production nothing is added, and
 * bundlers drop the call. They keep calls of {@link withKeywords}, which return a value.
 */
export function note(part: object, notes: () => Notes): void {
  try {
    if (process.env.NODE_ENV !== "production") Object.assign(part, notes());
  } catch {}
}

interface Notes {
  /** Text of the issue, with advice. */
  readonly message?: string;
  /** Keywords of JSON Schema. */
  readonly keywords?: object;
  /** The variants of a schema. */
  readonly options?: readonly v.GenericSchema[];
  /** The fields of a schema with an earlier check. */
  readonly entries?: v.ObjectEntries;
}

/** Schema of a number within bounds, both included. */
/* @__NO_SIDE_EFFECTS__ */
export function between(minimum: number, maximum: number): v.GenericSchema<number> {
  const check = v.check(
    (number: number) => number >= minimum && number <= maximum,
    ({ received }) => `must be from ${minimum} to ${maximum}, got ${received}`,
  );
  note(check, () => ({ keywords: { minimum, maximum } }));
  return v.pipe(v.number(), check);
}

/** Schema of a whole number, from `minimum` up to `maximum`. Both bounds are optional. */
/* @__NO_SIDE_EFFECTS__ */
export function wholeNumber(minimum?: number, maximum?: number): v.GenericSchema<number> {
  const upper = maximum === undefined ? " up" : ` to ${maximum}`;
  const range = minimum === undefined ? "" : ` from ${minimum}${upper}`;
  const check = v.check(
    (number: number) =>
      Number.isInteger(number) && number >= (minimum ?? number) && number <= (maximum ?? number),
    ({ received }) => `must be a whole number${range}, got ${received}`,
  );
  note(check, () => ({ keywords: { type: "integer", minimum, maximum } }));
  return v.pipe(v.number(), check);
}

/** Rejects an empty text or list. */
/* @__NO_SIDE_EFFECTS__ */
export function notEmpty<Input extends { readonly length: number }>() {
  const check = v.check<Input, string>(({ length }) => length > 0, "must not be empty");
  note(check, () => ({ keywords: { minLength: 1 } }));
  return check;
}

/** Schema of an object whose fields are all optional. `v.object` would also accept a list. */
/* @__NO_SIDE_EFFECTS__ */
export function optionalObject<const Entries extends v.ObjectEntries>(entries: Entries) {
  const fields = v.object(entries);
  const noList = v.custom((given) => !Array.isArray(given), "must be an object, got a list");
  const schema = v.pipe(noList as v.GenericSchema, fields);
  note(schema, () => ({ entries }));
  return schema as v.GenericSchema as typeof fields;
}

/**
 * Schema of an object whose field `key` selects its form. It needs less code than `v.variant`.
 *
 * @param message text for an unknown form
 */
/* @__NO_SIDE_EFFECTS__ */
export function oneOf<Input>(
  key: string,
  forms: Readonly<Record<string, v.GenericSchema<unknown>>>,
  message?: string,
): v.GenericSchema<Input> {
  const unknownForm = v.object({ [key]: v.picklist(Object.keys(forms), message) });
  const schema = v.lazy((input) => {
    const name = (input as Readonly<Record<string, string>> | null)?.[key] ?? "";
    return Object.hasOwn(forms, name) ? (forms[name] as v.GenericSchema) : unknownForm;
  });
  note(schema, () => ({ options: Object.values(forms) }));
  return schema as v.GenericSchema as v.GenericSchema<Input>;
}

declare const denied: unique symbol;

/** Type of a field that a model lacks. No value fits, and the compiler prints `Why`. */
export interface Denied<Why extends string> {
  readonly [denied]: Why;
}

type DeniedIfLiteral<Why extends string> = string extends Why ? never : Denied<Why>;

/**
 * Schema of a field that the spec forbids for a model, with its error message. The compiler prints a message of a
 * literal type. For a message of type `string`, the type of the field is `undefined`: this helps the compiler to choose
 * the member of a union of requests that it reports.
 */
/* @__NO_SIDE_EFFECTS__ */
export function forbidden<const Why extends string>(
  why: Why,
): v.OptionalSchema<v.GenericSchema<DeniedIfLiteral<Why>>, undefined> {
  return v.optional(v.never(why));
}

/** Result of the check of a request. */
export interface CheckResult {
  /** Broken rules: the gateway would reject the request. */
  readonly issues: Issue[];
  /**
   * Parts of the request that the gateway would ignore or may not know, such as an unknown field. The request is still
   * sent. Empty if there are issues.
   */
  readonly warnings: Issue[];
}

const ONE_RESULT_ADVICE =
  ": the gateway has no such field; send several requests, or for images `sequential_image_generation`";

/** Reports a warning. */
export type Warn = (path: string, name: string, message: string) => void;

/**
 * Warns about a request that breaks our assumptions. It never rejects the request: the spec is silent, and the gateway
 * may accept it.
 *
 * @param schema the assumed shape of the request
 */
export function warnOfAssumed(schema: v.GenericSchema, request: unknown, warn: Warn): void {
  for (const { path, message, rule: name } of collectIssues(schema, request, ""))
    warn(
      path,
      name.slice(1),
      `${message} (our assumption: the spec does not show it, and the request is sent)`,
    );
}

/**
 * Schema of an optional field whose shape is our assumption. It accepts any value. The shape serves types, docs and
 * tables. {@link warnOfAssumed} checks it.
 */
/* @__NO_SIDE_EFFECTS__ */
export function assumed<Schema extends v.GenericSchema>(shape: Schema): Schema {
  return { ...v.optional(v.any()), assumed: shape } as v.GenericSchema as Schema;
}

/** The rules for the requests of one resource. */
export interface Rules<Model extends string = string> {
  /** First part of the names of the rules. */
  readonly resource: string;
  /** The family of each model in the names of its rules. */
  readonly models: { readonly [Id in Model]: { readonly family: string } };
  /** The schema of each model. */
  readonly schemas: { readonly [Id in Model]: v.GenericSchema };
}

/** Returns the issue for a model that is not in `known`. */
export function createModelIssue(model: unknown, known: readonly string[], rule: string): Issue {
  const issue = { path: "model", message: `must be one of ${known.join(", ")}`, rule };
  addHint(issue, model, known);
  return issue;
}

/** Checks `request` with the schema of its `model`. Returns the broken rules. */
export function findIssues(request: unknown, rules: Rules): Issue[] {
  const { resource, schemas } = rules;
  const { model, n } = (request ?? {}) as { model?: unknown; n?: unknown };
  if (typeof model !== "string" || !Object.hasOwn(schemas, model)) {
    return [createModelIssue(model, Object.keys(schemas), `${resource}.model`)];
  }
  const prefix = formatPrefix(model, rules);
  const issues = collectIssues(schemas[model] as v.GenericSchema, request, prefix);
  // OpenAI clients send `n`. A gateway that ignores it would return one result instead of several
  if ((n ?? 1) !== 1) {
    const issue = { path: "n", message: "must be 1", rule: `${prefix}.n` };
    addAdvice(issue, ONE_RESULT_ADVICE);
    issues.push(issue);
  }
  return issues;
}

/** Checks `request` like {@link findIssues}. If it is valid, adds the warnings of {@link emitWarnings}. */
export function checkByModel<Request extends { readonly model: string }>(
  request: unknown,
  rules: Rules,
  addWarnings: (request: Request, warn: Warn) => void = () => {},
): CheckResult {
  const issues = findIssues(request, rules);
  const warnings: Issue[] = [];
  if (issues.length === 0)
    emitWarnings(request as Request, rules, addWarnings, (issue) => warnings.push(issue));
  return { issues, warnings };
}

/**
 * Emits the warnings about a valid request: those about unknown fields and those of `addWarnings`. Call it in
 * development only, behind `process.env.NODE_ENV`, so that bundlers drop the code of the warnings.
 */
export function emitWarnings<Request extends { readonly model: string }>(
  request: Request,
  rules: Rules,
  addWarnings: (request: Request, warn: Warn) => void,
  emit: (issue: Issue) => void,
): void {
  const { model } = request;
  const prefix = formatPrefix(model, rules);
  const warn: Warn = (path, name, message) => emit({ path, message, rule: `${prefix}.${name}` });
  for (const { path, name, known } of findUnknownFields(rules.schemas[model] as v.GenericSchema, request))
    warn(path, "unknown-field", `is not a known field of this model${formatSuggestion(name, known)}`);
  addWarnings(request, warn);
}

function formatPrefix(model: string, { resource, models }: Rules): string {
  const { family } = models[model] as { family: string };
  return family === resource ? resource : `${resource}.${family}`;
}

/** A request with `checks: false`: it may have any model and fields. */
export interface AnyRequest {
  /** Id of the model. */
  readonly model: string;
  /** A field of the model. */
  readonly [field: string]: unknown;
}

/** The compiler prints the type of this `model` beside the known models if a model is unknown. */
interface NotListed {
  readonly model: Denied<"another needs checks: false">;
}

/**
 * The request of the given model, or of any model if `model` has a wider type. Editors show no docs for a field that
 * several members of a union share.
 */
export type RequestFor<Model extends string, Requests extends object, Checks extends boolean> = [
  Model,
] extends [never]
  ? // never happens: the compiler infers `Model` from this field
    { readonly model: Model }
  : [Checks] extends [false]
    ? Requests[keyof Requests] | AnyRequest
    : [Model] extends [keyof Requests]
      ? InOneForm<Requests[Model]> extends true
        ? Requests[Model]
        : // editors show no docs here anyway, and errors about the whole union are clearer than errors about a part
          Requests[keyof Requests] | NotListed
      : Requests[keyof Requests] | NotListed;

/** `true` for a type that is not a union. */
type InOneForm<Request, Form = Request> = Form extends unknown
  ? [Request] extends [Form]
    ? true
    : false
  : never;

/** The options of a request that decide about its check. */
export interface CheckOptions {
  /** False accepts any request. @default true */
  readonly checks?: boolean | undefined;
}

/**
 * Throws if a request breaks a rule, unless `checks` is false.
 *
 * @throws {ValidationError}
 */
export function assertAccepted(request: unknown, rules: Rules, { checks }: CheckOptions = {}): void {
  if (checks === false) return;
  const issues = findIssues(request, rules);
  suggestUnchecked(issues);
  if (issues.length > 0) throw new ValidationError(issues);
}

/**
 * Checks a request before it is sent, for a resource without warnings of its own. Warns about unknown fields in
 * development.
 *
 * @throws {ValidationError} if the request breaks a rule
 */
export function assertRequest(
  { warn }: { readonly warn: (issue: Issue) => void },
  request: unknown,
  rules: Rules,
  options?: CheckOptions,
): void {
  assertAccepted(request, rules, options);
  try {
    if (process.env.NODE_ENV !== "production" && options?.checks !== false)
      emitWarnings(request as AnyRequest, rules, () => {}, warn);
  } catch {}
}

/** Adds the advice `checks: false` to the issue of an unknown model, in development. */
function suggestUnchecked(issues: Issue[]): void {
  try {
    if (process.env.NODE_ENV !== "production")
      for (const [index, issue] of issues.entries())
        if (issue.path === "model")
          issues[index] = {
            ...issue,
            message: `${issue.message} (send one that is not listed with \`{ checks: false }\`)`,
          };
  } catch {}
}

function createIssue(path: string, issue: v.BaseIssue<unknown>, family: string): Issue {
  const name = path
    .replace(/\.\d+(?=\.|$)/g, "")
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
  const created = {
    path,
    message: issue.message || describe(issue),
    rule: name ? `${family}.${name}` : family,
  };
  addMisspellingHint(created, issue);
  return created;
}

function describe({ expected, received, input }: v.BaseIssue<unknown>): string {
  if (input === undefined)
    return `is required${expected?.startsWith('"') ? "" : ` (${expected?.replace(/^\(|\)$/g, "")})`}`;
  const kinds = expected?.replace(/[()]/g, "");
  const got = received.length > 60 ? `${received.slice(0, 60)}…` : received;
  return `expected ${kinds}, got ${got}`;
}
