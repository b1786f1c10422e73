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

const KEY = /^[\x21-\x7e]+$/;
const RULES: readonly (readonly [keyof S3BucketOptions, RegExp, string])[] = [
  ["bucket", /^[\w.-]{3,63}$/, "give the name of the bucket alone"],
  ["region", /^[\w-]+$/, "give that of the bucket, or auto"],
  ["accessKeyId", KEY, "give the id of a key; is the variable set?"],
  ["secretAccessKey", KEY, "give the secret of a key; is the variable set?"],
  ["sessionToken", KEY, "give the token of a key"],
];

/** @throws {TypeError} when an option can't work. No message has its value, which may be a secret in the wrong option. */
export function checkOptions(options: S3BucketOptions): S3BucketOptions {
  const url = URL.parse(options.endpoint);
  const isAddress = url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === "";
  ensure(isAddress, "s3Bucket: endpoint: give the address of the service, https://s3.example.com");
  for (const [name, rule, advice] of RULES) {
    const { [name]: value } = options;
    const isLeftOut = name === "sessionToken" && value === undefined;
    ensure(isLeftOut || rule.test(value ?? ""), `s3Bucket: ${name}: ${advice}`);
  }
  return { ...options, endpoint: url.href };
}
