import type { CallOutcome } from "../api/plugin.js";

/** A refusal: its status, its message, and its code unless that is the reason itself. */
export type Row = readonly [status: number, message: string, code?: string];

const invalid = "invalid_request";
const maybeDone = "the request may still be carried out";

/**
 * Creates the table of the refusals of every proxy: for a refusal, and not at the start of a Worker. In a message, `{param}`
 * and `{what}` stand for the details of the same name.
 */
export const createRefusals = () =>
  ({
    // path and origin
    not_found: [404, "there is nothing at this path{what}"],
    query_not_allowed: [400, "remove the query: this path takes none"],
    method_not_allowed: [405, "use {what}"],
    origin_not_allowed: [403, "this page may not call the proxy; its operator lists `origins`"],

    // user and rate
    unauthenticated: [401, "sign in: the proxy does not know who sends this request"],
    invalid_key: [
      401,
      "the key or session in `authorization` is not valid; sign in again",
      "invalid_api_key",
    ],
    user_mismatch: [409, "this page belongs to another user; reload it, or sign in again"],
    authentication_unavailable: [503, "your sign-in can't be checked now; try again"],
    rate_limited: [429, "too many {limit}; try again in {what} s"],
    rate_limit_unavailable: [503, "the rate limit can't be checked now; try again"],
    too_many_streams: [429, "too many responses are streaming at once; stop one, or try again in {what} s"],
    budget_unavailable: [503, "your budget can't be checked now; try again"],

    // body
    no_object: [400, "send one JSON object in UTF-8", invalid],
    body_with_method: [400, "send no body with {what}", invalid],
    type_not_json: [415, "send the request as content-type: application/json", "unsupported_media_type"],
    unsupported_encoding: [415, "send the body without a content-encoding"],
    body_too_large: [413, "the body is larger than {what} bytes"],
    too_many_bytes: [429, "your open requests hold too many bytes; try again in {what} s"],
    proxy_full: [503, "all open requests hold too many bytes; try again in {what} s"],
    body_timeout: [408, "the body took too long to arrive; send it again"],
    too_much: [400, "the body {what}; send less", invalid],

    // model, fields, media
    model_not_allowed: [403, "this proxy does not allow the model; the proxy's operator lists `models`"],
    field_not_allowed: [
      400,
      '"{param}" is not a field of this model; leave it out, or let the proxy\'s operator add it to `allowFields`, or `adaptOpenAI()`',
    ],
    bad_field: [400, "{param} {what}", invalid],
    limit_exceeded: [400, "{param} must be {what}"],
    media_not_allowed: [400, "{param} {what}"],
    media_unavailable: [503, "the media can't be checked now; try again"],

    // the proxy and its plugins
    misconfigured: [500, "a setting of the proxy is wrong; its log names it"],
    plugin_unavailable: [503, "a plugin of the proxy failed; try again"],
    storage_unavailable: [503, "the proxy's database is not available now; try again", "plugin_unavailable"],

    // the gateway; 499 is for the log, since no client is left to read it
    client_left: [499, "the client has left"],
    client_stalled: [499, "the client read nothing of the response for too long"],
    upstream_unreachable: [502, "the gateway could not be reached; try again"],
    upstream_cut: [502, `the connection to the gateway broke off; ${maybeDone}`],
    upstream_idle: [504, `the gateway fell silent; ${maybeDone}`],
    upstream_timeout: [504, `the gateway took too long; ${maybeDone}`],
    upstream_type: [502, "the gateway sent a response that can't be forwarded{what}"],
    upstream_redirect: [502, "the gateway redirects; the proxy's operator checks `baseURL`"],
    upstream_error: [502, "the gateway failed with {what}; try again"],
    upstream_auth: [502, "the gateway refused the proxy's key; tell its operator"],
    upstream_refused: [502, "the gateway refused with {what}"],

    /** An error whose words are in its details: the gateway's, or a plugin's. */
    custom: [502, "{what}"],
  }) as const satisfies Record<string, Row>;

/** The refusals of a budget. */
export const budgetRefusals = {
  budget_exhausted: [429, "the budget of this {budget} is used up; try again in {what} s"],
  shared_budget_exhausted: [429, "a budget that all share ({budget}) is used up; try again in {what} s"],
} as const satisfies Record<string, Row>;

/** The refusals of the routes for images, videos, assets and epsilon. */
export const mediaRefusals = {
  task_not_found: [404, "there is no such task, or it is not yours"],
  asset_not_found: [404, "there is no such asset, or it is not yours"],
  model_misnamed: [400, "name the model as `model` or `model_name`", invalid],
  no_groups: [
    403,
    'no group of assets may be used; the proxy\'s operator lists them, models: { "{what}": { GroupId: ["…"] } }',
    "limit_exceeded",
  ],
} as const satisfies Record<string, Row>;

/** The reason of a refusal: a row of the table. */
export type Reason = keyof ReturnType<typeof createRefusals>;

/** The details of one refusal. */
export interface RefusalDetails {
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
  /** Replaces parts of the row: the error of the gateway, or of a plugin. */
  readonly error?: Partial<ErrorText>;
}

/** The status and the words of a refusal. */
interface ErrorText {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** `error.type`. @default by status */
  readonly type: string | undefined;
}
