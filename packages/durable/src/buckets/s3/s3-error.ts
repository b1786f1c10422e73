/** Advice by error code of the response. */
const ADVICE: Readonly<Record<string, string>> = {
  AccessDenied: "let the key read, write, delete and list in this bucket",
  InvalidAccessKeyId: "is accessKeyId set?",
  SignatureDoesNotMatch: "is secretAccessKey set, and is the region right?",
  NoSuchBucket: "make the bucket, or give the endpoint that has it",
  PermanentRedirect: "give the endpoint of the bucket's region",
  TemporaryRedirect: "give the endpoint of the bucket's region",
  AuthorizationHeaderMalformed: "give the bucket's region",
  RequestTimeTooSkewed: "set the clock of this machine",
};

interface ErrorDetails {
  /** HTTP status; absent without a response. */
  readonly status?: number;
  /** Code of the response, `NoSuchKey`. */
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

/** A failed request. The message contains only the method, the status and code of the response, and advice. */
export class S3Error extends Error {
  override readonly name = "S3Error";
  readonly method: string;
  readonly status: number | undefined;
  readonly code: string;
  constructor(method: string, { status, code = "", cause }: ErrorDetails) {
    // another server can send any text as the code
    const safeCode = /^\w{1,64}$/.test(code) ? code : "";
    const result = status === undefined ? "got no response" : `got ${status} ${safeCode}`.trimEnd();
    super([`s3Bucket: ${method} ${result}`, ADVICE[safeCode]].filter(Boolean).join("; "), { cause });
    this.method = method;
    this.status = status;
    this.code = safeCode;
  }
}
