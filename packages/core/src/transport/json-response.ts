import { isGatewayError, ResponseError } from "../vocabulary/errors.js";
import type { CallSummary } from "../vocabulary/events.js";
import {
  createAPIError,
  type ErrorFields,
  excerpt,
  findErrorFields,
  isRecord,
  parseJSON,
} from "./error-response.js";
import { readRequestId, toConnectionError } from "./failure.js";
import { readText } from "./read-body.js";
import {
  type CallDescription,
  type Connection,
  closeExchange,
  type Exchange,
  type Outgoing,
  openExchange,
  type RequestOptions,
  send,
} from "./send.js";

/** A request whose whole answer is JSON. */
export interface Call<Result, JSON = unknown> extends CallDescription, Omit<Outgoing, "headers"> {
  /** Makes the result from an answer; throws if the answer does not fit the spec. */
  readonly read: (answer: WholeResponse<JSON>) => Result | Promise<Result>;
  /** Makes the result from an answer that is not JSON. Without it, such an answer is an error. */
  readonly readText?: (answer: WholeResponse<undefined>) => Result | Promise<Result>;
  /** Returns the facts about a result for the call's `end` event. */
  readonly summary?: (result: Result) => CallSummary;
}

/** A whole answer. */
export interface WholeResponse<JSON = unknown> {
  readonly json: JSON;
  /** Text of the answer, without the key. */
  readonly text: string;
  readonly headers: Headers;
  /** Makes an error about this answer. `path` names the field that does not fit the spec. */
  readonly mismatch: (path: string) => ResponseError;
  /** Makes the error that this answer reports with a status of success. `fields`: what was read of it already. */
  readonly reported: (fields?: ErrorFields) => Error;
  readonly requestId: string | undefined;
  /** Milliseconds from the call to the last byte. */
  readonly totalMs: number;
}

/**
 * Sends, and reads the whole answer.
 *
 * @throws {APIError} for a status of failure, or an answer that is not JSON
 * @throws {ConnectionError} when no answer came, or it broke off
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`
 * @throws the error of `call.read`
 */
export async function requestJSON<Result>(
  client: Connection,
  call: Call<Result>,
  options: RequestOptions,
): Promise<Result> {
  const exchange = openExchange(client, call, options);
  let result: Result;
  try {
    const answer = await requestText(client, exchange, call, options);
    if (answer.json !== undefined) result = await call.read(answer);
    else if (call.readText) result = await call.readText({ ...answer, json: undefined });
    else throw answer.reported();
  } catch (error) {
    closeExchange(client, exchange, {}, { error });
    throw error;
  }
  closeExchange(client, exchange, call.summary?.(result) ?? {});
  return result;
}

async function requestText(
  client: Connection,
  exchange: Exchange,
  call: Outgoing,
  options: RequestOptions,
): Promise<WholeResponse> {
  const response = await send(client, exchange, { ...call, headers: options.headers });
  const requestId = readRequestId(response);
  const text = client.scrub(await readBodyText(client, exchange, response));
  const json = parseJSON(text);
  return {
    json,
    text,
    headers: response.headers,
    mismatch: (path) => {
      const message = `the answer does not fit the spec at ${path}`;
      return new ResponseError(message, { path, body: excerpt(text) }, { requestId });
    },
    reported: (fields) => createAPIError(response, text, { requestId, fields }),
    requestId,
    totalMs: client.clock.now() - exchange.startedAt,
  };
}

/**
 * Does the same for an answer that is an object with one of the fields `landmarks`. An object without them that has an
 * error message is that error.
 *
 * @throws {APIError} also for an error reported with a status of success
 * @throws {ResponseError}
 */
export function requestRecord<Result>(
  client: Connection,
  call: Call<Result, Record<string, unknown>>,
  options: RequestOptions,
  ...landmarks: readonly string[]
): Promise<Result> {
  const read = (answer: WholeResponse) => {
    const { json } = answer;
    if (!isRecord(json)) throw answer.reported();
    const isAnswer = findRecords(json).some((record) => landmarks.some((name) => record[name] !== undefined));
    if (!isAnswer && findErrorFields(json)?.message !== undefined) throw answer.reported();
    return call.read({ ...answer, json });
  };
  return requestJSON(client, { ...call, read }, options);
}

/** Returns the objects of an answer that may be wrapped: `{code, message, data}`. */
function findRecords(json: unknown): Record<string, unknown>[] {
  return isRecord(json) ? [json, json.data].filter(isRecord) : [];
}

/**
 * Finds the id of a created task or asset in an answer: in the first of the fields `names` that has one, also below
 * `data`. The task is billed, so a number is accepted, too. The digits of a long one are read from the text, because a
 * number cannot hold them.
 */
export function findId({ json, text }: WholeResponse, ...names: readonly string[]): string | undefined {
  for (const record of findRecords(json))
    for (const name of names) {
      const id = record[name];
      if (typeof id === "string" && id.trim()) return id;
      if (Number.isSafeInteger(id)) return String(id);
      if (typeof id === "number") return new RegExp(`"${name}"\\s*:\\s*(\\d+)`).exec(text)?.[1];
    }
  return undefined;
}

/** Reads the time for which a proxy keeps copies, in milliseconds; undefined without an archive. */
export function readArchiveMs(headers: Headers): number | undefined {
  const [, ms] = /\barchive=(\d+)/.exec(headers.get("x-sluice-offers") ?? "") ?? [];
  return ms ? Number(ms) : undefined;
}

interface FieldTypes {
  string: string;
  number: number;
  object: object;
}

/** Reads a field that nothing depends on. A field of another type is undefined, with a warning. */
export function readField<Type extends keyof FieldTypes>(
  { warn }: Connection,
  path: string,
  type: Type,
  value: unknown,
): FieldTypes[Type] | undefined {
  if (value == null) return undefined;
  if (typeof value === type) return value as FieldTypes[Type];
  warn({ path, message: `is no ${type} in the gateway's answer, and was left out`, rule: "answer.type" });
  return undefined;
}

/** Reads the body as text. A body that breaks off is a failed connection, after the gateway has acted. */
async function readBodyText(client: Connection, exchange: Exchange, response: Response): Promise<string> {
  try {
    return await readText(client, exchange, response);
  } catch (error) {
    const { signal } = exchange;
    throw signal.aborted || isGatewayError(error) ? error : toConnectionError(error);
  }
}
