import { isGatewayError, ResponseError } from "../errors.js";
import type { CallSummary } from "../events.js";
import { apiErrorOf, errorFieldsOf, excerpt, isRecord, parseJSON } from "./error-response.js";
import { connectionError, requestIdOf } from "./failure.js";
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
  /** Makes the result of an answer; throws for one that does not fit the spec. */
  readonly read: (answer: Answer<JSON>) => Result;
  /** The facts about a result that go into the call's `end` event. */
  readonly summary?: (result: Result) => CallSummary;
}

/** A whole answer. */
export interface Answer<JSON = unknown> {
  readonly json: JSON;
  /** The same as it came, without the key. */
  readonly text: string;
  readonly headers: Headers;
  /** An error about this answer: `path` names the field that does not fit the spec. */
  readonly misfit: (path: string) => ResponseError;
  /** An error that this answer reports although its status says success. */
  readonly reported: () => Error;
  /** From the call to the last byte. */
  readonly totalMs: number;
}

/**
 * Sends, and reads the whole answer.
 *
 * @throws {APIError} for an answer that is no success, or no JSON
 * @throws {ConnectionError} when none came, or it broke off
 * @throws {TimeoutError} phase `headers`, `chunk` or `total`
 * @throws what `call.read` throws
 */
export async function requestJSON<Result>(
  client: Connection,
  call: Call<Result>,
  options: RequestOptions,
): Promise<Result> {
  const exchange = openExchange(client, call, options);
  let result: Result;
  try {
    result = call.read(await answerOf(client, exchange, call, options));
  } catch (error) {
    closeExchange(client, exchange, {}, { error });
    throw error;
  }
  closeExchange(client, exchange, call.summary?.(result) ?? {});
  return result;
}

async function answerOf(
  client: Connection,
  exchange: Exchange,
  call: Outgoing,
  options: RequestOptions,
): Promise<Answer> {
  const response = await send(client, exchange, { ...call, headers: options.headers });
  const requestId = requestIdOf(response);
  const text = client.scrub(await textOf(client, exchange, response));
  const json = parseJSON(text);
  const reported = () => apiErrorOf(response, text, { requestId });
  if (json === undefined) throw reported();
  return {
    json,
    text,
    headers: response.headers,
    misfit: (path) => {
      const message = `the answer does not fit the spec at ${path}`;
      return new ResponseError(message, { path, body: excerpt(text) }, { requestId });
    },
    reported,
    totalMs: client.clock.now() - exchange.startedAt,
  };
}

/**
 * The same for an answer that is an object with one of the fields `landmarks`; without them, an object that tells of
 * an error is that error.
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
  const read = (answer: Answer) => {
    const { json } = answer;
    if (!isRecord(json)) throw answer.reported();
    const isAnswer = recordsIn(json).some((record) => landmarks.some((name) => record[name] !== undefined));
    if (!isAnswer && errorFieldsOf(json)?.message !== undefined) throw answer.reported();
    return call.read({ ...answer, json });
  };
  return requestJSON(client, { ...call, read }, options);
}

/** An answer that may be wrapped, as gateways' own forms are: `{code, message, data}`. */
function recordsIn(json: unknown): Record<string, unknown>[] {
  return isRecord(json) ? [json, json.data].filter(isRecord) : [];
}

/**
 * The id of what an answer says was created, in the first of the fields `names` that has one, also below `data`. It is
 * billed, so it is taken as text or as a number: a long one as its digits stand in the text, which a number can't hold.
 */
export function idIn({ json, text }: Answer, ...names: readonly string[]): string | undefined {
  for (const record of recordsIn(json))
    for (const name of names) {
      const id = record[name];
      if (typeof id === "string" && id.trim()) return id;
      if (Number.isSafeInteger(id)) return String(id);
      if (typeof id === "number") return new RegExp(`"${name}"\\s*:\\s*(\\d+)`).exec(text)?.[1];
    }
  return undefined;
}

interface FieldTypes {
  string: string;
  number: number;
  object: object;
}

/** A field that nothing depends on: `value`, or undefined, with a warning, where the gateway gave it another type. */
export function fieldOf<Type extends keyof FieldTypes>(
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

/** The body as text; one that breaks off is a failed connection, after the gateway has acted. */
async function textOf(client: Connection, exchange: Exchange, response: Response): Promise<string> {
  try {
    return await readText(client, exchange, response);
  } catch (error) {
    const { signal } = exchange;
    throw signal.aborted || isGatewayError(error) ? error : connectionError(error);
  }
}
