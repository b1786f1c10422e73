import { limitTime } from "@sluice/worker-proxy/plugin";
import { AwsClient } from "aws4fetch";
import type { S3BucketOptions } from "./options.js";
import { readStart } from "./pieces.js";
import { S3Error } from "./s3-error.js";
import { findText } from "./xml.js";

/** A request to the bucket. */
export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** The name of a file. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** False if a second request has another effect: it is repeated only if the first one did nothing. @default true */
  readonly isRepeatable?: boolean;
}

/** A response of success. Its text is read; the body of a file is not. */
export interface S3Response {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body?: ReadableStream<Uint8Array> | undefined;
}

const MAX_ATTEMPTS = 4;
/** First pause between attempts in milliseconds; each further one is twice as long. */
const PAUSE_MS = 200;
/** Longest pause between attempts, in milliseconds: a user waits. */
const MAX_PAUSE_MS = 3000;
/** Time for one attempt in milliseconds: it may have to send 8 MiB, or to put thousands of parts together. */
const ATTEMPT_MS = 120_000;
/** Largest response that is read as text, in bytes. */
const MAX_TEXT_BYTES = 4_194_304;

/** Opens the requests to a bucket. Each is signed with the hash of its bytes, so that the bucket rejects other bytes. */
export function openRequests(options: S3BucketOptions) {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey, sessionToken } = options;
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  const aws = new AwsClient({ ...keys, region, service: "s3" });
  return ask;

  /**
   * Sends a request, and repeats it if that is safe and may succeed.
   *
   * @throws {S3Error} the last failure
   */
  async function ask(request: S3Request): Promise<S3Response> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await limitTime(ATTEMPT_MS, (signal) => sendOnce(request, signal)).catch(
        (cause: unknown) => new S3Error(request.method, { cause }),
      );
      if (!(outcome instanceof S3Error)) return outcome;
      if (attempt === MAX_ATTEMPTS || !outcome.isPassing(request.isRepeatable)) throw outcome;
      const asked = Math.max(outcome.retryAfterMs, PAUSE_MS * 2 ** (attempt - 1));
      const pauseMs = Math.min(MAX_PAUSE_MS, asked) * (1 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Sends a request once. A redirect is not followed: the signature is for this address. */
  async function sendOnce(request: S3Request, signal: AbortSignal): Promise<S3Response | S3Error> {
    const { method, body = null, headers: own } = request;
    const headers = { ...own, "x-amz-content-sha256": await hashBytes(body ?? "") };
    const init = { method, headers, body: body as BodyInit | null, redirect: "manual", signal } as const;
    const answer = await fetch(await aws.sign(createAddress(request), init));
    const { status } = answer;
    const isFile = method === "GET" && (status === 200 || status === 206);
    if (isFile) return { status, headers: answer.headers, text: "", body: answer.body ?? undefined };
    const text = await readStart(answer.body, MAX_TEXT_BYTES);
    // a response that took long began with 200, and may be an error
    const isSuccess = status >= 200 && status < 300 && !/<Error[\s>]/.test(text);
    if (isSuccess) return { status, headers: answer.headers, text };
    const retryAfterMs = Number(answer.headers.get("retry-after")) * 1000 || 0;
    return new S3Error(method, { status, code: findText(text, "Code"), retryAfterMs });
  }

  function createAddress({ key, query = {} }: Pick<S3Request, "key" | "query">): string {
    const base = `${endpoint.replace(/\/+$/, "")}/${bucket}`;
    const path = key.split("/").map(encodeURIComponent).join("/");
    const pairs = Object.entries(query).map((pair) => pair.map(encodeURIComponent).join("="));
    return `${base}/${path}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`;
  }
}

async function hashBytes(content: Uint8Array | string): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
