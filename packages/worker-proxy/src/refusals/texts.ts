import type { CallOutcome } from "../api/plugin.js";

/*
 * Every refusal of the proxy: its status, its message, and its code where that is not the reason itself. In a message, `{param}`, `{what}`, `{budget}` and `{limit}` stand for the details of the same name, and
 * `{wayOut}` for what to do instead.
 */

type Row = readonly [status: number, message: string, code?: string];

const invalid = "invalid_request";
const unsupported = "unsupported_media_type";
const maybeDone = "what was asked may be done all the same";

export const refusals = {
  // path and origin
  not_found: [404, "there is nothing at this path{what}"],
  query_not_allowed: [400, "remove the query: this path takes none"],
  method_not_allowed: [405, "use {what}"],
  origin_not_allowed: [403, "this page may not call the proxy; its operator lists `origins`"],

  // user, rate, budget
  unauthenticated: [401, "sign in: the proxy does not know who is asking"],
  invalid_key: [401, "the key or session in `authorization` is not valid; sign in again", "invalid_api_key"],
  user_mismatch: [
    409,
    "this page is of another user than the one who is signed in; reload it, or sign in again",
  ],
  authentication_unavailable: [503, "your sign-in can't be checked now; try again"],
  rate_limited: [429, "too many {limit}; try again in {what} s"],
  rate_limit_unavailable: [503, "the rate limit can't be checked now; try again"],
  budget_exhausted: [429, "the budget of this {budget} is used up; try again in {what} s"],
  shared_budget_exhausted: [429, "a budget that all share ({budget}) is used up; try again in {what} s"],
  budget_unavailable: [503, "your budget can't be checked now; try again"],
  too_many_streams: [429, "too many answers are streaming at once; end one; try again in {what} s"],

  // body
  no_object: [400, "send one JSON object in UTF-8", invalid],
  body_with_method: [400, "send no body with {what}", invalid],
  type_not_json: [415, "send the request as content-type: application/json", unsupported],
  unsupported_encoding: [415, "send the body without a content-encoding"],
  body_too_large: [413, "the body is larger than {what} bytes"],
  body_timeout: [408, "the body took too long to arrive; send it again"],
  too_deep: [400, "the body is nested deeper than {what}; send less", invalid],
  too_many_values: [400, "the body has more than {what} values; send less", invalid],
  too_many_addresses: [400, "the body has more than {what} addresses; send less", invalid],

  // model, fields, media, ids
  model_not_allowed: [403, "this model may not be asked here; the proxy's operator lists `models`"],
  model_misnamed: [400, "name the model as `model` or `model_name`", invalid],
  two_token_limits: [400, "say max_tokens alone: the two names mean the same", invalid],
  field_not_allowed: [400, '"{param}" is no field of this model; {wayOut}'],
  bad_user_id: [400, "{param} must be 1 to 512 letters of A-Z and a-z, digits, - and _", invalid],
  proto_field: [400, '"__proto__" is not a field', invalid],
  list_not_allowed: [400, "{param} must not be a list here", invalid],
  no_field_object: [400, "{param} must be an object", invalid],
  number_out_of_range: [400, "a number is out of range", invalid],
  limit_exceeded: [400, "{param} must be {what}"],
  bad_token_limit: [400, "{param} must be a whole number from 1 up", "limit_exceeded"],
  // a group of assets is a place and not an amount: who may use it is a matter of permission
  group_not_allowed: [403, "{param} must be {what}", "limit_exceeded"],
  no_groups: [
    403,
    'no group of assets may be used; the proxy\'s operator lists them, models: { "{what}": { GroupId: ["…"] } }',
    "limit_exceeded",
  ],
  media_not_allowed: [400, "{param} {what}"],
  media_unavailable: [503, "the media can't be checked now; try again"],
  task_not_found: [404, "there is no such task, or it is not yours"],
  asset_not_found: [404, "there is no such asset, or it is not yours"],

  // the proxy and its parts
  misconfigured: [500, "the proxy is set up wrongly; its log says how"],
  extension_unavailable: [503, "a part of the proxy failed; try again"],
  storage_unavailable: [503, "the proxy's database is not available now; try again", "extension_unavailable"],

  // the gateway; 499 is for the log, since no client is left to read it
  client_left: [499, "the client has left"],
  client_stalled: [499, "the client took nothing of the answer for too long"],
  upstream_unreachable: [502, "the gateway could not be reached; try again"],
  upstream_cut: [502, `the connection to the gateway broke off; ${maybeDone}`],
  upstream_idle: [504, `the gateway fell silent; ${maybeDone}`],
  upstream_timeout: [504, `the gateway took too long; ${maybeDone}`],
  upstream_type: [502, "the gateway sent what can't be passed on"],
  upstream_no_json: [
    502,
    "the gateway answered with no JSON and no event stream; the proxy's operator checks `baseURL`",
    "upstream_type",
  ],
  upstream_too_much: [502, "the gateway's JSON has too many values to be read", "upstream_type"],
  upstream_broken_json: [502, "the gateway answered with broken JSON", "upstream_type"],
  upstream_no_answer: [502, "the gateway answered with {what}, which is no answer", "upstream_type"],
  upstream_redirect: [
    502,
    "the gateway answered with a redirect, never followed; the proxy's operator checks `baseURL`",
  ],
  upstream_error: [502, "the gateway failed with {what}; try again"],
  upstream_auth: [502, "the gateway refused the proxy's key; tell its operator"],
  upstream_refused: [502, "the gateway refused with {what}"],

  // an error with words from elsewhere: from a Durable Object, or a part of `/auth`
  said: [502, "{what}"],
} as const satisfies Record<string, Row>;

/** The reason of a refusal: a row of the table. */
export type Reason = keyof typeof refusals;

/** The facts of one refusal. */
export interface Details {
  /** The amount, the address or the names that the message is about. */
  readonly what?: string | number;
  /** `error.param`. @default none */
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** The reason of a 401, for the operator alone. */
  readonly reason?: string | undefined;
  /** The budget that is used up. @default "user" */
  readonly budget?: string | undefined;
  /** The limit that was reached: the things that were too many, or the name of an option. @default "requests" */
  readonly limit?: string | undefined;
  /** The subject of a line in the operator's log, which has the message too: an option should perhaps change. */
  readonly advice?: string | undefined;
  /** The end of the call to the gateway that this refusal reports. @default "unknown": all that was reserved is spent */
  readonly outcome?: CallOutcome | undefined;
  /** The problem in words for the operator's log alone. @default the message */
  readonly problem?: string | undefined;
  readonly cause?: unknown;
  /** An error in place of the table's: the gateway's, a Durable Object's, or that of a part of `/auth`. */
  readonly said?: Partial<ErrorText>;
}

/** The status and the words of a refusal. */
interface ErrorText {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** `error.type`. @default by status */
  readonly type: string | undefined;
}

/** The `error.type` of statuses that have one of their own. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** The part of a refusal that its words depend on. */
type Refused = { readonly reason: Reason; readonly details: Details };

/** Returns the status and the words of a refusal. */
export function textOf({ reason, details }: Refused): ErrorText {
  const { what = "", param = "an address", budget = "user", limit = "requests", said } = details;
  const [usual, message, code = reason]: Row = refusals[reason];
  const status = said?.status ?? usual;
  const words = { param, what, budget, limit, wayOut: waysOut.get(param) ?? BY_OPERATOR };
  const text = message.replace(/\{(\w+)\}/g, (_, word: keyof typeof words) => `${words[word]}`);
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "proxy_error");
  return { code, message: text, type, ...said, status };
}

const SCHEMA = "write the schema into the messages, or let the proxy's operator add `adaptJSONSchema()`";

/** The way out for fields that no operator can allow: the gateway itself would refuse or ignore them. */
export const waysOut: ReadonlyMap<string, string> = new Map([
  ["n", "one request has one result; for several images set `sequential_image_generation`"],
  ["response_format", `ask for JSON in the messages; ${SCHEMA}`],
  ["response_format.json_schema", `send { type: "json_object" }; ${SCHEMA}`],
  ["response_format.schema", SCHEMA],
  ["functions", "use `tools`"],
  ["function_call", "use `tools` and `tool_choice`"],
]);
const BY_OPERATOR = "leave it out, or let the proxy's operator add it to `allowFields`";

/** Returns the body of a refusal, and of an error inside a stream, in the gateway's own error shape (spec, Errors). */
export function errorBody(refusal: Refused): string {
  const { message, type, code } = textOf(refusal);
  const { param } = refusal.details;
  return JSON.stringify({ error: { message, type, code, ...(param && { param }) } });
}

/** Returns the event that ends a stream that failed; a blank line closes the event that may be open. */
export function errorEvent(refusal: Refused): Uint8Array {
  return new TextEncoder().encode(`\n\nevent: error\ndata: ${errorBody(refusal)}\n\n`);
}
