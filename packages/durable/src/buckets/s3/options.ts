import { ensure } from "@sluice/worker-proxy/plugin";

/** Options of `s3Bucket`. */
export interface S3BucketOptions {
  /** Address of the service, `https://s3.eu-central-1.amazonaws.com`: the bucket is the first part of the path behind it. */
  readonly endpoint: string;
  /** Name of the bucket. It needs no public access. */
  readonly bucket: string;
  /** Region of the bucket, `eu-central-1`; `auto` for R2. */
  readonly region: string;
  /** Key of an account that may get, put, delete and list in this bucket alone. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Token of a key that ends. @default none */
  readonly sessionToken?: string | undefined;
}

/** @throws {TypeError} when an option can't work. No message has its value, which may be a secret in the wrong option. */
export function checkOptions(options: S3BucketOptions): S3BucketOptions {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey, sessionToken } = options;
  const url = parseAddress(endpoint);
  ensure(url, "s3Bucket: endpoint: give the address of the service, https://s3.example.com");
  ensure(/^[\w.-]{3,63}$/.test(bucket ?? ""), "s3Bucket: bucket: give the name of the bucket alone");
  ensure(/^[\w-]+$/.test(region ?? ""), "s3Bucket: region: give that of the bucket, or auto");
  const isKey = (key: unknown) => typeof key === "string" && /^[\x21-\x7e]+$/.test(key);
  ensure(isKey(accessKeyId), "s3Bucket: accessKeyId: give the id of a key; is the variable set?");
  ensure(isKey(secretAccessKey), "s3Bucket: secretAccessKey: give the secret of a key; is the variable set?");
  ensure(
    sessionToken === undefined || isKey(sessionToken),
    "s3Bucket: sessionToken: give the token of a key",
  );
  return { endpoint: url.href, bucket, region, accessKeyId, secretAccessKey, sessionToken };
}

function parseAddress(given: unknown): URL | null {
  const url = typeof given === "string" ? URL.parse(given) : null;
  const isAddress = url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === "";
  return isAddress ? url : null;
}
