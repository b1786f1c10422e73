import { ConnectionError, isGatewayError, ResponseError } from "../types/errors.js";
import type { CallSummary } from "../types/events.js";
import { createAPIError } from "./describe-response.js";
import { type ErrorFields, excerpt, findErrorFields, isRecord, parseJSON } from "./error-response.js";
import { readRequestId } from "./failure.js";
import { failureCode } from "./failure-code.js";
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

type JSONRequest = Omit<Outgoing, "headers" | "failureCode">;

/** A request whose whole response is JSON. */
export interface Call<Result, JSON = unknown>
  extends CallDescription,
    Omit<Outgoing, "headers" | "failureCode"> {
  /** Creates the result from a response. Throws if the response does not fit the spec. */
  readonly read: (response: WholeResponse<JSON>) => Result | Promise<Result>;
  /** Creates the result from a response that is not JSON. Without this function, such a response is an error. */
  readonly readText?: (response: WholeResponse<undefined>) => Result | Promise<Result>;
  /** Returns the metadata of a result for the call's `end` event. */
  readonly summary?: (result: Result) => CallSummary;
}

/** A whole response. */
export interface WholeResponse<JSON = unknown> {
  readonly json: JSON;
  /** Text of the response, without the key. */
  readonly text: string;
  readonly headers: Headers;
  /** Creates an error about this response. `path` names the field that does not fit the spec. */
  readonly mismatch: (path: string) => ResponseError;
  /**
   * Creates the error that this response reports under a status of success. `fields`: fields that were already read.
   */
  readonly reported: (fields?: ErrorFields) => Error;
  readonly requestId: string | undefined;
  /** Milliseconds from the call to the last byte. */
  readonly totalMs: number;
}

/**
 * Sends a request and reads the whole response.
 *
 * @throws {APIError} for an error status, or a response that is not JSON
 * @throws {ConnectionError} when no response came, or the connection broke
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
    const response = await requestText(client, exchange, call, options);
    if (response.json !== undefined) result = await call.read(response);
    else if (call.readText) result = await call.readText({ ...response, json: undefined });
    else throw response.reported();
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
  call: JSONRequest,
  options: RequestOptions,
): Promise<WholeResponse> {
  const response = await send(client, exchange, { ...call, headers: options.headers, failureCode });
  const requestId = readRequestId(response);
  const text = client.scrub(await readBodyText(client, exchange, response));
  const json = parseJSON(text);
  return {
    json,
    text,
    headers: response.headers,
    mismatch: (path) => {
      const message = `the response does not fit the spec at ${path}`;
      return new ResponseError(message, { path, body: excerpt(text) }, { requestId });
    },
    reported: (fields) => createAPIError(response, text, { requestId, fields }),
    requestId,
    totalMs: client.clock.now() - exchange.startedAt,
  };
}

/**
 * Sends a request whose response is an object with one of the fields `landmarks`. An object without them, but with an
 * error message, is an error.
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
  const read = (response: WholeResponse) => {
    const { json } = response;
    if (!isRecord(json)) throw response.reported();
    const hasResult = findRecords(json).some((record) =>
      landmarks.some((name) => record[name] !== undefined),
    );
    if (!hasResult && findErrorFields(json)?.message !== undefined) throw response.reported();
    return call.read({ ...response, json });
  };
  return requestJSON(client, { ...call, read }, options);
}

/** Returns the objects of a response, which may be wrapped: `{code, message, data}`. */
function findRecords(json: unknown): Record<string, unknown>[] {
  return isRecord(json) ? [json, json.data].filter(isRecord) : [];
}

/**
 * Finds the id of a created task or asset in a response: in the first of the fields `names` that has one, also in
 * `data`. The task is billed, so numbers are accepted too. Long ones are read from the text, because a number cannot
 * hold all digits.
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

/** Reads how long a proxy stores copies, in milliseconds; undefined without an archive. */
export function readArchiveMs(headers: Headers): number | undefined {
  const [, ms] = /\barchive=(\d+)/.exec(headers.get("x-sluice-features") ?? "") ?? [];
  return ms ? Number(ms) : undefined;
}

interface FieldTypes {
  string: string;
  number: number;
  object: object;
}

/** Reads an optional field. Returns undefined for another type, with a warning. */
export function readField<Type extends keyof FieldTypes>(
  { warn }: Connection,
  path: string,
  type: Type,
  value: unknown,
): FieldTypes[Type] | undefined {
  if (value == null) return undefined;
  if (typeof value === type) return value as FieldTypes[Type];
  warn({ path, message: `is no ${type} in the gateway's response, and was left out`, rule: "response.type" });
  return undefined;
}

/** Reads the body as text. A broken body is a failed connection after the gateway has acted. */
async function readBodyText(client: Connection, exchange: Exchange, response: Response): Promise<string> {
  try {
    return await readText(client, exchange, response);
  } catch (error) {
    const { signal } = exchange;
    if (signal.aborted || isGatewayError(error)) throw error;
    const message = "the connection broke within the response; the gateway may have billed it";
    throw new ConnectionError(message, "maybe", { cause: error });
  }
}
