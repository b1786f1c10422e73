import { AwsClient } from "aws4fetch";
import { limitTime } from "../../shared/time.js";
import { checkKey } from "../bucket.js";
import { readBytes } from "../pieces.js";
import type { S3BucketOptions } from "./index.js";
import { S3Error } from "./s3-error.js";

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** A successful response. `text` is already read. The body of a file is not. */
export interface S3Response {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body?: ReadableStream<Uint8Array> | undefined;
}

/** Number of further attempts after a 429 or 5xx, and the maximum first pause, in milliseconds. */
const RETRIES = { retries: 3, initRetryMs: 400 };
/** Timeout of one request, in milliseconds. The request may send 8 MiB, or combine thousands of parts. */
const REQUEST_MS = 120_000;
/** Maximum size of a response that is read as text, in bytes. */
const MAX_TEXT_BYTES = 4_194_304;

/**
 * Creates the function that sends requests to a bucket. The signature of a request covers the hash of its bytes, so
 * that the bucket rejects altered bytes.
 */
export function createRequests({ endpoint, bucket, ...keys }: S3BucketOptions) {
  const aws = new AwsClient({ ...keys, ...RETRIES, service: "s3" } as ConstructorParameters<
    typeof AwsClient
  >[0]);

  /** Sends a request. Does not follow redirects: the signature is valid for this URL only. @throws {S3Error} */
  return async ({ method, key, query = {}, headers: extraHeaders, body }: S3Request): Promise<S3Response> => {
    checkKey(key);
    const path = key.split("/").map(encodeURIComponent).join("/");
    const url = `${endpoint.replace(/\/+$/, "")}/${bucket}/${path}?${new URLSearchParams(query)}`;
    const headers = { ...extraHeaders, "x-amz-content-sha256": await hashBytes(body ?? "") };
    const init = { method, headers, body: (body ?? null) as BodyInit | null, redirect: "manual" } as const;
    const outcome = await limitTime(REQUEST_MS, async (signal) => {
      const response = await aws.fetch(url.replace(/\?$/, ""), { ...init, signal });
      const { status } = response;
      const isFile = method === "GET" && (status === 200 || status === 206);
      if (isFile) return { status, headers: response.headers, text: "", body: response.body ?? undefined };
      const bytes = response.body ? await readBytes(response.body, MAX_TEXT_BYTES) : undefined;
      const text = new TextDecoder().decode(bytes);
      // a slow response can start with status 200 and then contain an error
      const isSuccess = status >= 200 && status < 300 && !/<Error[\s>]/.test(text);
      if (isSuccess) return { status, headers: response.headers, text };
      return new S3Error(method, { status, code: findText(text, "Code") });
    }).catch((cause: unknown) => new S3Error(method, { cause }));
    if (outcome instanceof S3Error) throw outcome;
    return outcome;
  };
}

async function hashBytes(content: Uint8Array | string): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Finds the text of the first element with a name in a response; undefined if there is none. */
export function findText(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text?.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) =>
    name
      ? (NAMED_ENTITIES[name] ?? whole)
      : String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal)),
  );
}

/** Escapes a text for the content of an element. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
