/** Steps that help, by the code of a response. */
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

interface Failure {
  /** HTTP status; absent without a response. */
  readonly status?: number;
  /** Code of the response, `NoSuchKey`. */
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

/** A request that failed. Nothing of the request is in its message, and only the status and the code of the response. */
export class S3Error extends Error {
  override readonly name = "S3Error";
  readonly method: string;
  readonly status: number | undefined;
  readonly code: string;
  constructor(method: string, { status, code = "", cause }: Failure) {
    // a response of another server can have any text here
    const known = /^\w{1,64}$/.test(code) ? code : "";
    const what = status === undefined ? "got no response" : `got ${status} ${known}`.trimEnd();
    super([`s3Bucket: ${method} ${what}`, ADVICE[known]].filter(Boolean).join("; "), { cause });
    this.method = method;
    this.status = status;
    this.code = known;
  }
}
