import { limitTime } from "@sluice/worker-proxy/plugin";
import { AwsClient } from "aws4fetch";
import { readStart } from "../pieces.js";
import type { S3BucketOptions } from "./index.js";
import { S3Error } from "./s3-error.js";

/** A request to the bucket. */
export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** The name of a file. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** A response of success. Its text is read; the body of a file is not. */
export interface S3Response {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body?: ReadableStream<Uint8Array> | undefined;
}

/** Number of further attempts after a 429 or 5xx, and the longest first pause before one, in milliseconds. */
const RETRIES = { retries: 3, initRetryMs: 400 };
/** Time for one request in milliseconds: it may have to send 8 MiB, or to put thousands of parts together. */
const REQUEST_MS = 120_000;
/** Largest response that is read as text, in bytes. */
const MAX_TEXT_BYTES = 4_194_304;

/** Opens the requests to a bucket. Each is signed with the hash of its bytes, so that the bucket rejects other bytes. */
export function openRequests({ endpoint, bucket, ...keys }: S3BucketOptions) {
  const aws = new AwsClient({ ...keys, ...RETRIES, service: "s3" } as ConstructorParameters<
    typeof AwsClient
  >[0]);

  /** Sends a request. A redirect is not followed: the signature is for this address. @throws {S3Error} */
  return async ({ method, key, query = {}, headers: own, body }: S3Request): Promise<S3Response> => {
    const path = key.split("/").map(encodeURIComponent).join("/");
    const url = `${endpoint.replace(/\/+$/, "")}/${bucket}/${path}?${new URLSearchParams(query)}`;
    const headers = { ...own, "x-amz-content-sha256": await hashBytes(body ?? "") };
    const init = { method, headers, body: (body ?? null) as BodyInit | null, redirect: "manual" } as const;
    const outcome = await limitTime(REQUEST_MS, async (signal) => {
      const response = await aws.fetch(url.replace(/\?$/, ""), { ...init, signal });
      const { status } = response;
      const isFile = method === "GET" && (status === 200 || status === 206);
      if (isFile) return { status, headers: response.headers, text: "", body: response.body ?? undefined };
      const text = await readStart(response.body, MAX_TEXT_BYTES);
      // a response that took long began with 200, and may be an error
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

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Finds the text of the first element with a name in a response; undefined if there is none. */
export function findText(xml: string, name: string): string | undefined {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text?.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) =>
    name ? (NAMED[name] ?? whole) : String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal)),
  );
}

/** Escapes a text for the content of an element. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
